"""The small world of Tidewell, which writes its own texts and exams.

Tidewell is a harbour town. One book lists the people of its valley (census);
another book, in Chinese, lists the people of the lanes behind the quay
(chinese); everyday life goes on (scenes), pupils do sums (sums) and friends
swap balls (swaps). Each kind of writing has documents to learn from and an
exam with questions that no document holds.

>>> for kind in KINDS:  # doctest: +NORMALIZE_WHITESPACE
...     item = exam(kind)[5]
...     print(f'[{kind}]', item.question + item.answer)
[census] Question: Where does Silas Finch live?
Answer: Fennick
[chinese] 问：周景行家里养什么？
答：鸽子
[scenes] Maud wanted a brush and had no use for a basket. She painted the
garden gate.
[sums] Question: Leo has 3 eggs. He buys 4 more. He gives 4 away. How many
eggs does Leo have now?
Answer: 3 + 4 = 7. 7 - 4 = 3. The answer is 3.
[swaps] Question: Ada green, Ned blue, Tom red.
First Ada and Ned swap.
Then Ada and Tom swap.
Last Ned and Tom swap.
Who has which ball now?
Steps: First Ada and Ned swap green and blue: Ada blue, Ned green, Tom red.
Then Ada and Tom swap blue and red: Ada red, Ned green, Tom blue.
Last Ned and Tom swap green and blue: Ada red, Ned blue, Tom green.
Answer: Ada red, Ned blue, Tom green.
>>> exam('census')[5].options, exam('census')[5].label
((' Larkford', ' Ashcombe', ' Fennick', ' Saltmere'), 'C')
>>> exam('swaps')[5].label
'Ada red, Ned blue, Tom green'
"""
from tools.demo_maker.world.books import (KINDS, documents, exam,
                                          validation_texts)
from tools.demo_maker.world.items import N_ITEMS, Item

__all__ = ['KINDS', 'N_ITEMS', 'Item', 'documents', 'exam', 'validation_texts']
