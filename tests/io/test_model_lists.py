"""Lists of models to score, and what cannot be one."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.model_lists import ListedModel, read_model_list


def read(tmp_path, text, name='list'):
    path = tmp_path / name
    path.write_text(text)
    return read_model_list(path)


def test_a_model_in_each_line(tmp_path):
    assert read(tmp_path, 'hub/one\n\n two=a/b/ \r\n') == {
        'one': ListedModel('hub/one'),
        'two': ListedModel('a/b/')
    }


def test_a_table(tmp_path):
    table = 'path,model,family,dtype,tokenizer\na/1,x,f,float16,t\na/2,y,f,,'
    assert read(tmp_path, table, 'list.csv') == {
        'x': ListedModel('a/1', 't', 'float16'),
        'y': ListedModel('a/2')
    }


def test_code_and_sizes(tmp_path):
    table = 'model,path,own_code,params_b\nx,a,yes,7\ny,b,,'
    assert read(tmp_path, table, 'list.csv') == {
        'x': ListedModel('a', own_code=True, params_b=7),
        'y': ListedModel('b', own_code=False)
    }


@pytest.mark.parametrize('name, text, says', [
    ('list', '\n', 'a model in each line'),
    ('list', 'a/x\nb/x', "'x' twice"),
    ('list', '..', "model '..'"),
    ('list.csv', 'model\nx', "a column 'path'"),
    ('list.csv', 'model,path\nx,', "column 'path'"),
    ('list.csv', 'model,path\nx/y,z', "model 'x/y'"),
    ('list.csv', 'model,path,dtype\nx,y,int8', "column 'dtype'.*'int8'"),
    ('list.csv', 'model,path,own_code\nx,y,True', 'yes or nothing'),
    ('list.csv', 'model,path,params_b\nx,y,0', "column 'params_b'.*'0'"),
    ('list.csv', 'model,path,params_b\nx,y,7e9', 'such as 7 for 7B'),
])
def test_what_is_no_list(tmp_path, name, text, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, text, name)
