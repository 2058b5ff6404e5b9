"""A loop of tools by messages, an object by a schema, and a stream."""

import json
import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

cities = []


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    cities.append(city)
    return "Sunny"


class Place(BaseModel):
    place: str
    people: int


chat = ChatOpenAI(model=os.environ["MODEL"], use_responses_api=True)
with_tools = chat.bind_tools([get_weather])
messages = [HumanMessage("What is the weather in Kazan?")]
called = with_tools.invoke(messages)
messages.append(called)
for call in called.tool_calls:
    messages.append(ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]))
answer = with_tools.invoke(messages)
place = chat.with_structured_output(Place).invoke("Name a place")
streamed = None
for piece in with_tools.stream("What is the weather in Kazan?"):
    streamed = piece if streamed is None else streamed + piece
print(
    json.dumps(
        {
            "text": answer.text if isinstance(answer.text, str) else answer.text(),
            "cities": cities,
            "place": place.model_dump(),
            "usage": answer.usage_metadata,
            "streamedCalls": [call["args"] for call in streamed.tool_calls],
            "streamedUsage": streamed.usage_metadata,
        }
    )
)
