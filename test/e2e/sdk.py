# A customer's program: two settings from the environment, and nothing else that is ours.
import json, socket, sys
from openai import OpenAI

address = sys.argv[1]  # of the ingress controller: this machine has no DNS for its hosts
resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: resolve(address, *rest, **more)

client = OpenAI(max_retries=0)
messages = [{"role": "user", "content": "Hello from Python"}]
plain = client.chat.completions.create(model="demo/echo", messages=messages)
stream = client.chat.completions.create(
    model="demo/echo", messages=messages, stream=True, stream_options={"include_usage": True}
)
pieces, usage = [], None
for chunk in stream:
    pieces += [choice.delta.content or "" for choice in chunk.choices]
    usage = chunk.usage or usage
print(
    json.dumps(
        {
            "plain": plain.choices[0].message.content,
            "streamed": "".join(pieces),
            "tokens": usage.completion_tokens,
            "models": [model.id for model in client.models.list()],
        }
    )
)
