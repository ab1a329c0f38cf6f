"""Dumps in memory: what they keep, and what they refuse."""
import dataclasses

import pytest

from csv_plugin.core.conventions import InputError
from tests.core.loss_dumps import INFO, bare, dump, row


def test_versions_are_kept_as_they_were():
    versions = {'torch': '2.1'}
    info = dataclasses.replace(INFO, versions=versions)
    versions['torch'] = '3'
    assert info.versions == {'torch': '2.1'}


@pytest.mark.parametrize('changes, message', [
    (dict(model=None), 'DumpInfo.model: expected a text, found None'),
    (dict(fingerprint=b'f'), "DumpInfo.fingerprint: .* found b'f'"),
    (dict(context=-1), 'DumpInfo.context: .* 0 or more, found -1'),
    (dict(stride=-1), 'DumpInfo.stride: .* 0 or more, found -1'),
    (dict(context=1.0), 'DumpInfo.context: .* found 1.0'),
    (dict(context=True), 'DumpInfo.context: .* found True'),
    (dict(versions='2.1'), "DumpInfo.versions: expected texts by name, .*'2"),
    (dict(versions={'torch': 2}), r"DumpInfo.versions: .* found {'torch': 2}"),
    (dict(versions={2: 'torch'}), r"DumpInfo.versions: .* found {2: 'torch'}"),
])
def test_bad_infos_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(INFO, **changes)


@pytest.mark.parametrize('texts, message', [
    ([row('zh'), row('en'), row('zh')], "every name once, found 'zh' twice"),
    ([row('zh'), row('en', sha256='')], "text 'en': expected the sha256"),
    ([row('zh', text_id='\ud800')], 'text id .*U.D800'),
    ([row('zh'), row('en', rank=None)],
     "text 'en': expected rank to be recorded as for text 'zh', found none"),
    ([row('zh', entropy=None), row('en')],
     "text 'en': expected entropy to be absent as for text 'zh', found values"
     ),
    ([bare('zh'), bare('en', token_ids=[0, 1])], "text 'en': .* token_ids"),
])
def test_bad_dumps_are_refused(texts, message):
    with pytest.raises(InputError, match=f"dump of 'org/模型'.*{message}"):
        dump(*texts)
