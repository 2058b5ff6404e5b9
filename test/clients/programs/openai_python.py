"""`responses.parse`, the helpers of streams, and a loop of functions."""

import json
import os

from openai import OpenAI
from pydantic import BaseModel

model = os.environ["MODEL"]
client = OpenAI()


class Place(BaseModel):
    place: str
    people: int


parsed = client.responses.parse(model=model, input="Name a place", text_format=Place)

streamed = ""
with client.responses.stream(model=model, input="Name a place", text_format=Place) as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            streamed += event.delta
    last = stream.get_final_response()

tool = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
question = {"role": "user", "content": "What is the weather?"}
with client.responses.stream(model=model, input=[question], tools=[tool]) as stream:
    called = stream.get_final_response()
call = next(item for item in called.output if item.type == "function_call")
result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"degrees":1}'}
answer = client.responses.create(
    model=model, input=[question, *called.output, result], tools=[tool]
)
print(
    json.dumps(
        {
            "parsed": parsed.output_parsed.model_dump(),
            "streamed": streamed,
            "streamParsed": last.output_parsed.model_dump(),
            "called": json.loads(call.arguments),
            "text": answer.output_text,
            "usage": answer.usage.model_dump(),
        }
    )
)
