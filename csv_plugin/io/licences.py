"""What licences of texts forbid or allow, as far as their names tell."""
import re

#: Parts of the names of licences, and the uses that they forbid.
_FORBIDDEN = {
    'NC|non-?commercial': 'commercial use',
    r'ND|no-?deriv\w*': 'sharing changed copies',
    'research(?: use)? only': 'uses other than research',
}

#: Licences that allow any use and any change, and ask at most that authors and
#: the licence are named. Blanks stand for hyphens too.
_PERMISSIVE = re.compile(
    r'0?BSD( [0-4] clause)?|Apache 2(\.0)?|CC BY( \d\.\d)?|CC0( 1\.0)?|ISC|'
    r'MIT|MIT 0|ODC BY( 1\.0)?|PDDL( 1\.0)?|Public domain|Unlicense',
    re.IGNORECASE)


def is_permissive(licence: str) -> bool:
    """Whether a licence is known to allow any use, by its whole name.

    Args:
        licence (str): One name.

    >>> is_permissive('Apache-2.0'), is_permissive('CC BY 4.0')
    (True, True)
    >>> is_permissive('CC BY-SA 4.0'), is_permissive('unknown')
    (False, False)
    """
    return bool(_PERMISSIVE.fullmatch(licence.strip().replace('-', ' ')))


def forbidden_uses(licence: str) -> list[str]:
    """Uses that a licence forbids, by the parts of its name.

    Licences whose names do not say it, such as one of a company, may forbid
    uses all the same.

    Args:
        licence (str): One name or several.

    >>> forbidden_uses('CC BY-NC-SA 4.0'), forbidden_uses('MIT, CC BY 4.0')
    (['commercial use'], [])
    """
    return [
        use for part, use in _FORBIDDEN.items()
        if re.search(rf'\b(?:{part})\b', licence, re.IGNORECASE)
    ]
