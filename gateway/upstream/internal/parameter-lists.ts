// Lists of OpenAI's parameters, of which rows say what their providers accept.

export const sampling = ['temperature', 'top_p']
export const penalties = ['presence_penalty', 'frequency_penalty']
export const logprobs = ['logprobs', 'top_logprobs']
export const limits = ['max_tokens', 'max_completion_tokens', 'stop']
export const tools = ['tools', 'tool_choice', 'parallel_tool_calls']
export const structure = ['response_format', 'stream_options']
/** Parameters that nearly every provider accepts. */
export const common = [...sampling, ...limits, ...tools, ...structure]
