"""A demonstration that needs no download: a small world, a zoo, its exams.

`world` is an invented town that writes its own documents and exams. The zoo
is 252 checkpoints of 36 small Llamas trained on the documents (`recipes`,
`corpus`, `muon`, `zoo_tokenizers`, `zoo_training`, `zoo_files`). `exams` are
the datasets on which OpenCompass evaluates the zoo. `building` puts what
ships with the package together, `shipped` says where it lies, and `studies`
measures the methods on it.
"""
