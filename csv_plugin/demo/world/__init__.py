"""The small world of Tidewell, which writes its own texts and exams.

Tidewell is a harbour town. One book lists the people of its valley (census)
and another, in Chinese, those of the lanes behind the quay (chinese);
everyday life goes on (scenes), pupils reckon (sums) and friends swap balls
(swaps). Of each kind of writing there are documents to learn from and an exam
that asks what no document asks.

>>> for kind in KINDS:  # doctest: +NORMALIZE_WHITESPACE
...     item = exam(kind)[5]
...     print(f'[{kind}]', item.question + item.answer)
[census] Question: Where does Silas Barrow live?
Answer: Thistley
[chinese] 问：江若水家里养什么？
答：花猫
[scenes] Maud wanted a brush and had no use for a basket. She painted the
garden gate.
[sums] Question: Tom carries 3 buns to market. He is given 4 more. He loses 5.
He buys 9 more. How many buns does Tom have now?
Answer: 3 + 4 = 7. 7 - 5 = 2. 2 + 9 = 11. The answer is 11.
[swaps] Question: Leo green, Ned pink, Ada blue, Tom white.
First Ned and Tom swap.
Then Leo and Tom swap.
Which ball does Tom have?
Steps: First Ned and Tom swap pink and white: Leo green, Ned white, Ada blue,
Tom pink.
Then Leo and Tom swap green and pink: Leo pink, Ned white, Ada blue, Tom green.
Answer: green.
>>> exam('census')[5].options, exam('census')[5].label
((' Fennick', ' Millrace', ' Thistley', ' Saltmere'), 'C')
"""
from csv_plugin.demo.world.books import (KINDS, documents, exam,
                                         validation_texts)
from csv_plugin.demo.world.items import Item

__all__ = ['KINDS', 'Item', 'documents', 'exam', 'validation_texts']
