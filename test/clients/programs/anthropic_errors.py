"""The class of Anthropic's SDK for each request of CASES, which differ from one that is served; by both API versions."""

import json
import os

import anthropic
from anthropic import Anthropic

hello = [{"role": "user", "content": "Hello"}]


def raised(version: dict[str, str], case: dict[str, object]) -> str:
    client = Anthropic(
        api_key=case["key"],
        base_url=case["baseUrl"],
        max_retries=0,
        default_headers={**version, **case.get("headers", {})},
    )
    asked = {"model": case["model"], "max_tokens": 1000, "messages": hello, **case.get("body", {})}
    try:
        client.messages.create(**asked)
    except anthropic.APIStatusError as error:
        return f"{error.status_code} {type(error).__name__}"
    return "none"


cases = json.loads(os.environ["CASES"])
versions = [{}, {"anthropic-version": "2023-06-01"}]
print(json.dumps({"raised": [[raised(version, case) for version in versions] for case in cases]}))
