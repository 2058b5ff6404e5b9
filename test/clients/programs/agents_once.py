"""One question of one agent, and the error that a user sees."""

import asyncio
import json
import os

from agents import Agent, OpenAIProvider, RunConfig, Runner, set_tracing_disabled

set_tracing_disabled(True)
agent = Agent(name="helper", instructions="Help.", model=os.environ["MODEL"])
prompt = os.environ.get("PROMPT", "Hello") * int(os.environ.get("REPEAT", "1"))
config = RunConfig(model_provider=OpenAIProvider())


async def main():
    if os.environ["WAY"] == "whole":
        await Runner.run(agent, prompt, run_config=config)
        return
    async for _ in Runner.run_streamed(agent, prompt, run_config=config).stream_events():
        pass


shown = ""
try:
    asyncio.run(main())
except Exception as error:
    shown = str(error)
print(json.dumps({"shown": shown}))
