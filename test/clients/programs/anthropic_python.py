"""Messages by every helper of Anthropic's SDK: streams, tools, objects, counts and models."""

import json
import os

from anthropic import Anthropic, beta_tool
from pydantic import BaseModel

model = os.environ["MODEL"]
client = Anthropic(max_retries=0)
hello = [{"role": "user", "content": "Hello"}]
asked = {"model": model, "max_tokens": 1000, "messages": hello}


class Place(BaseModel):
    place: str
    people: int


@beta_tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: Its name.
    """
    return f"{city} is sunny"


parsed = client.messages.parse(**asked, output_format=Place)
with client.messages.stream(**asked) as stream:
    streamed = "".join(stream.text_stream)
    last = stream.get_final_message()
answer = client.beta.messages.tool_runner(**asked, tools=[get_weather]).until_done()
count = client.messages.count_tokens(model=model, messages=hello)
print(
    json.dumps(
        {
            "parsed": parsed.parsed_output.model_dump(),
            "streamed": streamed,
            "stopReason": last.stop_reason,
            "costRub": parsed.usage.cost_rub,
            "text": answer.content[-1].text,
            "count": count.input_tokens,
            "isListed": model in [listed.id for listed in client.models.list(limit=1)],
        }
    )
)
