/**
 * Parameters of a chat that only a route's rules send, for any kind of provider: callers could otherwise have
 * more than was held for their request. A row adds its own (`notFromCallers`).
 */
export const routesAlone: readonly string[] = [
  // The output limit under another name, which would override the one that was held:
  'n_predict', // llama.cpp, tools/server/README.md
  'num_predict',
  'options', // Ollama, API reference: options.num_predict
  'max_new_tokens',
  'parameters',
  'sampling_params', // TGI and Hugging Face, SGLang's native API
  'max_output_tokens',
  'maxOutputTokens',
  'generation_config',
  'generationConfig', // Responses, Gemini
  'max_gen_len',
  'max_length',
  'max_tokens_to_sample',
  'maxTokens',
  'max_new_token', // Bedrock, HF, Anthropic
  // More answers than are asked for with `n`:
  'best_of',
  'use_beam_search',
  'beam_width',
  'num_beams', // vLLM, OpenAI-Compatible Server; HF
  // A prompt that grows beyond the body: a template of the caller's own (vLLM) may repeat what it likes.
  'chat_template',
  'prompt_template',
  // An answer that comes later, behind another address, and is never billed here:
  'deferred',
  'background', // docs.x.ai, deferred completions; OpenAI Responses
  // Billed in addition to tokens, or by tokens that are in no response:
  'prediction', // rejected tokens are billed as output (platform.openai.com, predicted outputs)
  'web_search_options',
  'web_search',
  'search_parameters',
  'enable_search',
  'search_options',
  'plugins',
  'speed',
  'inference_geo', // docs.anthropic.com, pricing: multipliers of every token's price
  // A more expensive model than the one asked for (OpenRouter, LiteLLM):
  'models',
  'route',
  'preset',
  'fallbacks',
]
