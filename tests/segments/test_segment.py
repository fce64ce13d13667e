from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from leafspan.lexical import BM25Settings, Corpus, build_postings
from leafspan.segments import _segment_folder
from leafspan.segments._segment import UNFINISHED, Damaged, Segment, read_segment, write_segment
from leafspan.segments._segment_folder import SegmentFolder
from leafspan.store import DocumentTable
from tests.profiles import examples

LEAVES = [["oxygen", "gas"], ["gas"], ["steam", "engine", "steam"]]


def small():
    vectors = np.arange(15, dtype=np.float32).reshape(3, 5)
    documents = DocumentTable.of([("a", "0123abcd", 2), ("b\udc80 ü", "ffffffff", 1)])
    return Segment(documents, {**build_postings(LEAVES), "vectors": vectors})


def assert_same(found, expected):
    assert list(found.documents) == list(expected.documents)
    assert list(found.arrays) == list(expected.arrays)
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


def test_what_was_written_is_read(tmp_path):
    write_segment(tmp_path / "one", small())
    assert_same(read_segment(tmp_path / "one"), small())
    assert [file.name for file in tmp_path.iterdir()] == ["one"]


def test_arrays_are_mapped_read_only_and_aligned(tmp_path):
    write_segment(tmp_path / "one", small())
    for array in read_segment(tmp_path / "one").arrays.values():
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert array.ctypes.data % 64 == 0


def test_a_mapped_segment_can_be_searched_and_outlives_its_file(tmp_path):
    write_segment(tmp_path / "one", small())
    corpus = Corpus([(read_segment(tmp_path / "one").arrays, None)])
    (tmp_path / "one").unlink()
    assert corpus.score(["gas"], settings=BM25Settings()).present.tolist() == [True, True, False]


@pytest.mark.parametrize("segment", [Segment(DocumentTable.of([]), {}), Segment(DocumentTable.of([]), build_postings([]))])
def test_nothing_at_all_can_be_written(tmp_path, segment):
    write_segment(tmp_path / "empty", segment)
    assert_same(read_segment(tmp_path / "empty"), segment)


def test_every_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "one"
    write_segment(path, small())
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        with pytest.raises(Damaged):
            read_segment(path, whole=True)


def test_a_file_cut_short_anywhere_or_with_more_behind_it_is_noticed(tmp_path):
    path = tmp_path / "one"
    write_segment(path, small())
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(Damaged, match=r"too short|were written"):
            read_segment(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(Damaged, match=f"of {len(whole) + 1} bytes, where {len(whole)} were written"):
        read_segment(path)


def test_the_error_names_the_reason(tmp_path):
    path = tmp_path / "one"
    write_segment(path, small())
    whole = path.read_bytes()
    for changed, reason in [
        (b"PK" + whole[2:], "not a segment, it begins with b'PK"),
        (whole[:8] + b"\4\0\0\0" + whole[12:], "of format 4"),
        (whole[:-1] + b"\1", "checksum"),
    ]:
        path.write_bytes(changed)
        with pytest.raises(Damaged, match=reason):
            read_segment(path, whole=True)
    with pytest.raises(FileNotFoundError):
        read_segment(tmp_path / "none")


def test_a_failed_writer_leaves_what_was_there(tmp_path):
    write_segment(tmp_path / "one", small())
    with pytest.raises(TypeError):
        write_segment(tmp_path / "one", Segment(DocumentTable.of([]), {"objects": np.array([object()])}))
    assert [file.name for file in tmp_path.iterdir()] == ["one"]
    assert_same(read_segment(tmp_path / "one"), small())


def test_a_killed_writer_leaves_a_file_whose_name_says_so(tmp_path, monkeypatch):
    left = []
    monkeypatch.setattr("leafspan.segments._segment.os.replace", lambda source, target: left.append(source.name))
    write_segment(tmp_path / "one", small())
    assert left[0].startswith("one.")
    assert left[0].endswith(UNFINISHED)


_ANY_ARRAY = arrays_of.arrays(
    st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64, np.float32]),
    arrays_of.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9),
    elements=st.integers(0, 255),
)


@examples(50)
@given(
    st.lists(st.tuples(st.text(), st.none() | st.text("0123456789abcdef", min_size=1), st.integers(0, 2**32 - 1))),
    st.dictionaries(st.text(), _ANY_ARRAY, max_size=4),
)
def test_any_segment_comes_back(tmp_path_factory, documents, arrays):
    path = tmp_path_factory.mktemp("any") / "segment"
    segment = Segment(DocumentTable.of(documents), arrays)
    write_segment(path, segment)
    assert_same(read_segment(path), segment)


def test_only_files_of_unknown_segments_are_read(tmp_path, monkeypatch):
    folder = SegmentFolder(tmp_path)
    known = folder.keep(small())
    other = SegmentFolder(tmp_path).keep(small())
    opened = []

    def counted(path, **_):
        opened.append(path)
        return read_segment(path)

    monkeypatch.setattr(_segment_folder, "read_segment", counted)
    found = folder.read([known])
    assert opened == [other.path]
    assert any(each is known for each in found)
    assert {each.path for each in found} == {known.path, other.path}
