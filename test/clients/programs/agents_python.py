"""One agent hands over to another, which calls a function. WAY: whole or streamed."""

import asyncio
import json
import os

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)
model = os.environ["MODEL"]
cities = []


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    cities.append(city)
    return "Sunny"


expert = Agent(
    name="expert", instructions="You know the weather.", tools=[get_weather], model=model
)
reception = Agent(name="reception", instructions="Hand over.", handoffs=[expert], model=model)
# The default provider takes a name apart at its slash.
config = RunConfig(model_provider=OpenAIProvider())
question = "What is the weather in Kazan?"


async def main():
    streamed = ""
    if os.environ["WAY"] == "whole":
        result = await Runner.run(reception, question, run_config=config)
        streamed = result.final_output
    else:
        result = Runner.run_streamed(reception, question, run_config=config)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                streamed += event.data.delta
    again = [*result.to_input_list(), {"role": "user", "content": "And tomorrow?"}]
    following = await Runner.run(result.last_agent, again, run_config=config)
    print(
        json.dumps(
            {
                "text": result.final_output,
                "streamed": streamed,
                "agent": result.last_agent.name,
                "cities": cities,
                "next": following.final_output,
            }
        )
    )


asyncio.run(main())
