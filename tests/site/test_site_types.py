"""The playground's JavaScript is typed in comments, and TypeScript's compiler agrees with them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from exactfit.playground import PAGE

INSTALLED = Path(__file__).parents[2] / ".venv" / "node_modules" / ".bin"  # where `make test-site` puts it
TSC = shutil.which("tsc") or shutil.which("tsc", path=INSTALLED)
PATIENCE = 120  # seconds: twenty times what it takes


@pytest.mark.skipif(TSC is None, reason="needs TypeScript's tsc on the path: npm install typescript")
def test_the_types_are_right(tmp_path: Path) -> None:
    options = {
        "checkJs": True, "allowJs": True, "noEmit": True, "strict": True, "target": "es2022", "module": "es2022",
        "moduleResolution": "bundler", "lib": ["es2022", "dom", "dom.iterable"], "types": [],
    }  # fmt: skip
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": [f"{PAGE}/**/*.js"]}))
    done = subprocess.run(
        [str(TSC), "-p", str(tmp_path)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout
