"""What licences of texts forbid, as far as their names tell."""
import re

#: Parts of the names of licences, and the uses that they forbid.
_FORBIDDEN = {
    'NC|non-?commercial': 'commercial use',
    r'ND|no-?deriv\w*': 'sharing changed copies',
    'research(?: use)? only': 'uses other than research',
}


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
