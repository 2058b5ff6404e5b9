import type Anthropic from '@anthropic-ai/sdk'
import {
  base,
  call,
  closed,
  extra,
  hi,
  image,
  jpeg,
  mark,
  ofUser,
  on,
  png,
  pngImage,
  type Rejection,
  say,
  thoughtTurns,
  weather,
  withTurns,
} from './requests.ts'

const png1 = 'messages.0.content.0.image.source.base64'
const pdf = Buffer.from('%PDF-1.4').toString('base64')
const marks = (count: number) => Array.from({ length: count }, () => ({ ...say('Hi'), cache_control: mark }))

const schema = { type: 'object', properties: { at: closed }, additionalProperties: false }

/** Images, documents, cache marks and formats. */
export const contentRejections: readonly Rejection[] = [
  {
    name: 'with an image of another type than it has',
    request: ofUser(pngImage),
    change: { 'messages.0.content.0.source.data': jpeg },
    message: `${png1}: The image was specified using the image/png media type, but the image appears to be a image/jpeg image`,
  },
  {
    name: 'with an image that is no image',
    request: ofUser(pngImage),
    change: { 'messages.0.content.0.source.data': Buffer.from('<html>').toString('base64') },
    message: 'Could not process image',
  },
  {
    name: 'with an image in invalid base64',
    request: ofUser(pngImage),
    change: { 'messages.0.content.0.source.data': `${png}!` },
    message: `${png1}: invalid base64 data`,
  },
  {
    name: 'with an empty image',
    request: ofUser(pngImage),
    change: { 'messages.0.content.0.source.data': '' },
    message: `${png1}: image cannot be empty`,
  },
  {
    name: 'with an image of a type that models cannot see',
    request: ofUser(pngImage),
    change: { 'messages.0.content.0.source.media_type': 'image/bmp' },
    message: `${png1}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
  },
  {
    name: 'with an image in the result of a tool of another type than it has',
    request: withTurns(
      [
        hi,
        { role: 'assistant', content: [call] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [pngImage as Anthropic.ImageBlockParam] },
          ],
        },
      ],
      { tools: [weather] },
    ),
    change: { 'messages.2.content.0.content.0.source.media_type': 'image/gif' },
    message:
      'messages.2.content.0.tool_result.content.0.image.source.base64: The image was specified using the image/gif media type, but the image appears to be a image/png image',
  },
  {
    name: 'with an address of an image that is not HTTPS',
    request: ofUser(image({ type: 'url', url: 'https://example.com/a.png' })),
    change: { 'messages.0.content.0.source.url': 'http://example.com/a.png' },
    message: 'messages.0.content.0.image.source.url.url: Only HTTPS URLs are supported.',
  },
  {
    name: 'with an image of the assistant',
    request: withTurns([hi, { role: 'assistant', content: [say('Hello')] }, hi]),
    change: { 'messages.1.content.0': pngImage },
    message: "messages.1.content: 'image' blocks are not permitted within assistant turns",
  },
  {
    name: 'with a document that is no PDF',
    request: ofUser({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf },
    }),
    change: { 'messages.0.content.0.source.data': png },
    message: 'messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid.',
  },
  {
    name: 'with a document of the assistant in version 2026-10-21',
    version: '2026-10-21',
    request: withTurns([hi, { role: 'assistant', content: [say('Hello')] }, hi]),
    change: {
      'messages.1.content.0': {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Hi' },
      },
    },
    message: "messages.1.content: 'document' blocks are not permitted within assistant turns",
  },
  {
    name: 'with citations by the user in version 2026-10-21',
    version: '2026-10-21',
    request: ofUser(say('Hi')),
    change: { 'messages.0.content.0.citations': [{ type: 'char_location' }] },
    message: `messages.0.content.0.text.citations: ${extra}`,
  },
  {
    name: 'with five cache marks',
    request: {
      ...base,
      system: [{ type: 'text', text: 'Hi', cache_control: mark }],
      messages: [{ role: 'user', content: marks(3) }],
    },
    change: { tools: [{ ...weather, cache_control: mark }] },
    message: 'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  },
  {
    name: 'with a cache mark on thinking',
    request: thoughtTurns,
    change: { 'messages.1.content.0.cache_control': mark },
    message: `messages.1.content.0.thinking.cache_control: ${extra}`,
  },
  {
    name: 'with a cache mark of an unknown time',
    request: ofUser({
      ...say('Hi'),
      cache_control: { type: 'ephemeral', ttl: '1h' },
    } as Anthropic.ContentBlockParam),
    change: { 'messages.0.content.0.cache_control.ttl': '2h' },
    message: "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
  },
  {
    name: 'with a longer cache mark after a shorter one',
    request: ofUser(...marks(2)),
    change: { 'messages.0.content.1.cache_control.ttl': '1h' },
    message:
      "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
  },
  {
    name: 'with a format whose objects are open',
    request: on('claude-opus-5', { output_config: { format: { type: 'json_schema', schema } } }),
    change: { 'output_config.format.schema.properties.at.additionalProperties': true },
    message:
      "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
  },
  {
    name: 'with a format of OpenAI',
    request: on('claude-opus-5', { output_config: { format: { type: 'json_schema', schema } } }),
    change: { 'output_config.format.type': 'json_object' },
    message: "output_config.format.type: Input should be 'json_schema'",
  },
  {
    name: 'with a format, on a model without structured outputs',
    request: on('claude-3-5-haiku'),
    change: { output_config: { format: { type: 'json_schema', schema } } },
    message: "'claude-3-5-haiku' does not support output format.",
  },
]
