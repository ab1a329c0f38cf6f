"""Names of the people, villages, trades and animals of the Tidewell valley.

Tidewell is a harbour town at the mouth of the river Lark. People who came
over the sea call it Xijing (Chinese for 'well of the evening tide') and live
in the lanes behind the quay; the villages lie up the valley.
"""
WOMEN = ('Nell', 'Mira', 'Ada', 'Tess', 'Ruth', 'Olive', 'Edda', 'Wren', 'Ivy',
         'Greta', 'Lotte', 'Hazel', 'Maud', 'Sylvie', 'Bess', 'Clara')
MEN = ('Tom', 'Ezra', 'Hugo', 'Silas', 'Ned', 'Rufus', 'Otto', 'Jonas',
       'Perry', 'Abel', 'Felix', 'Arlo', 'Walter', 'Basil', 'Leo', 'Gideon')
SURNAMES = ('Barrow', 'Pike', 'Quill', 'Hartley', 'Finch', 'Rook', 'Sedge',
            'Marlow', 'Kestrel', 'Thorne', 'Wick', 'Penrose', 'Hobb', 'Lowell',
            'Crane', 'Vane', 'Tolliver', 'Burr', 'Nettle', 'Drake', 'Osgood',
            'Farrow', 'Gale', 'Winter')
VILLAGES = ('Tidewell', 'Saltmere', 'Gullcote', 'Fennick', 'Larkford',
            'Millrace', 'Ashcombe', 'Stonebay', 'Wrackham', 'Heronby',
            'Thistley', 'Eelbrook', 'Dunmarsh', 'Kelpwick', 'Foxholt',
            'Beaconby')
TRADES = ('baker', 'cooper', 'potter', 'weaver', 'tailor', 'miller', 'glazier',
          'thatcher', 'chandler', 'saddler', 'joiner', 'tanner', 'printer',
          'fiddler', 'blacksmith', 'ferryman')
ANIMALS = ('bees', 'goats', 'geese', 'ducks', 'doves', 'hens', 'sheep',
           'ponies', 'rabbits', 'ferrets', 'pigs', 'mules', 'finches',
           'donkeys', 'quails', 'hounds')

CHINESE_SURNAMES = tuple('沈林周陆许顾何叶苏方程宋唐秦江孟')
CHINESE_GIVEN = ('明月', '小满', '长青', '雨晴', '海生', '秋白', '文静', '子安', '春燕', '思远',
                 '玉兰', '立冬', '若水', '天佑', '云舒', '念慈', '阿福', '清和', '志远', '红梅',
                 '景行', '素心', '国栋', '晓棠')
LANES = ('望潮街', '盐仓巷', '石桥头', '柳荫里', '船厂街', '渡口巷', '灯塔街', '桂花巷', '竹篮街', '鱼市口',
         '井台巷', '梅花坞', '芦苇荡', '白鹭湾', '青石坡', '南门外')
CHINESE_TRADES = ('木匠', '铁匠', '石匠', '裁缝', '渔夫', '船工', '厨师', '郎中', '画师', '茶农',
                  '盐工', '银匠', '鞋匠', '花匠', '邮差', '琴师')
CHINESE_ANIMALS = ('山羊', '蜜蜂', '白鹅', '鸭子', '鸽子', '母鸡', '绵羊', '小马', '兔子', '黄牛',
                   '毛驴', '画眉', '金鱼', '乌龟', '花猫', '黄狗')


def pronoun(first_name: str) -> str:
    """The pronoun of a person of that first name: 'She' or 'He'."""
    return 'She' if first_name in WOMEN else 'He'
