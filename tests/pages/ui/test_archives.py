"""Files that came together, as one archive: none replaces another."""

import io
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from pages.ui.archives import packed


@given(st.lists(st.sampled_from(["a", "1 a", "2 1 a", "", "unnamed"]), max_size=6))
def test_every_file_is_a_member_of_its_own(names: list[str]) -> None:
    files = [(name, str(number).encode()) for number, name in enumerate(names)]
    with zipfile.ZipFile(io.BytesIO(packed(files))) as archive:
        assert [archive.read(member) for member in archive.infolist()] == [content for _, content in files]
        assert len(set(archive.namelist())) == len(files)
