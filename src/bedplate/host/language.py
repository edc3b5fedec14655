"""Texts in English and Chinese: a text is its English form and carries the Chinese one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from bedplate.core.check import FileEdit, Finding, Manual, Step

LANGUAGES = ("en", "zh")


class Both(str):
    """An English text with its Chinese translation in `zh`."""

    zh: str

    def __new__(cls, en: str, zh: str) -> Both:
        """Make one text of two."""
        text = super().__new__(cls, en)
        text.zh = zh
        return text

    def filled(self, values: Mapping[str, Any]) -> Both:
        """Both forms with `{name}` replaced; a name without a value stays as it is written."""
        return Both(_filled(str(self), values), _filled(self.zh, values))


class _Named(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def _filled(text: str, values: Mapping[str, Any]) -> str:
    return text.format_map(_Named(values)) if "{" in text else text


def fill(text: str, values: Mapping[str, Any]) -> str:
    """`text` with `{name}` replaced, in both languages when it has both."""
    return text.filled(values) if isinstance(text, Both) else _filled(text, values)


def choose_language(wanted: str = "") -> str:
    """The language asked for, or the one of the locale: "en" or "zh"."""
    if wanted:
        return wanted
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def in_language(text: str, language: str) -> str:
    """A text in the language, or in English where it has only that."""
    return text.zh if language == "zh" and isinstance(text, Both) else str(text)


def translated(finding: Finding, language: str) -> Finding:
    """A finding with every text in the language."""
    return dataclasses.replace(
        finding,
        title=in_language(finding.title, language),
        summary=in_language(finding.summary, language),
        remedy=tuple(_translated_step(step, language) for step in finding.remedy),
    )


def _translated_step(step: Step, language: str) -> Step:
    do = step.do
    if isinstance(do, Manual):
        do = Manual(in_language(do.text, language))
    if isinstance(do, FileEdit):
        do = FileEdit(do.path, in_language(do.text, language))
    return dataclasses.replace(step, do=do, why=in_language(step.why, language))
