"""Names that do harm where they are written as they are."""

#: Formulas for programs that open CSV files.
FORMULAS = ('=1+2', '+1', '-1', '-foo', '@SUM(A1)', '\t=1', '\r=1', "'=1",
            '＝1+2', "=cmd|' /C calc'!A0", '  =1', "''-1", '\n=1')
#: Links, pictures, tags, marks and cells of Markdown.
MARKS = ('[a](http://x.y)', '![a](http://x.y/z.png)', '[a]: http://x.y',
         'http://x.y', 'see https://x.y/z', 'www.x.y', '<http://x.y>',
         '<img src=x onerror=alert(1)>', '<script>alert(1)</script>', '`a`',
         '*a*', '**a**', '_a_', '__a__', 'a *b* _c_', '~~a~~', '$a$', '&lt;b',
         'a|b', '\\', 'a\\|b', 'a\\', '\\[a](http://x.y)', '"', "'", 'a,b;c',
         '# a', '## a', '> a', '>a', '- a', '+ a', '---', '* a')
#: Codes for terminals, turned lines, breaks, and characters without a width.
UNSEEN = ('a\x1b[2Jb', '\x1b]0;title\x07', 'a\x00b', 'a\x85b', 'a\nb',
          'a\r\nb', 'a\tb', '\u202egnp.exe', 'a\u2066b', 'a\u200bb',
          'a\u200db', '\ufeffa', 'a\u2028b', 'a\u3164b', '\udcff')
#: Paths that lead elsewhere, and names that only look like such.
LEADING_OUT = ('../../x', '/etc/x', '..', '.', '.x', 'a/b', 'a/../../x')
PATHS = (*LEADING_OUT, '%2E', 'a%')
NAMES = (*FORMULAS, *MARKS, *UNSEEN, *PATHS, 'a' * 300)
#: Names that must stay as they are everywhere.
USUAL = ('qwen1.5-7b-hf', 'mix_2@36000', 'c++ (5-shot)', '天气', 'café', 'a&b',
         'x=1', '5*3', 'a ~ b', 'R&D #1', 'lukaemon_mmlu_anatomy', 'a:b/c')
