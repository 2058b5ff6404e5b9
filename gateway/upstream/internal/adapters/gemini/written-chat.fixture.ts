import { expect } from 'vitest'
import type { RouteDocument } from '#core/catalog/catalog-document'
import { adaptChatRequest, findDropped } from '../../../chat-request.ts'
import { createDialect } from '../../../dialect.ts'
import type { Failure } from '../../../failure.ts'
import { type ChatCall, type FetchImage, isFailure } from '../../../provider-adapter.ts'
import type { SignatureOrigin } from '../../signature-origin.ts'

export type Settings = {
  readonly model?: string
  readonly parameters?: Partial<RouteDocument['parameters']>
  readonly unmarked?: SignatureOrigin['unmarked']
  readonly fetchImage?: FetchImage
}

/** A backend of Gemini with this model, and the route's rules for parameters. */
function geminiDialect({ model = 'gemini-3-pro-preview', parameters = {} }: Settings = {}) {
  const baseUrl = 'https://generativelanguage.googleapis.com/v1beta'
  return createDialect({ name: 'google', api: 'Gemini', baseUrl }, model, {
    model: 'google/chat',
    type: 'chat',
    parameters: { drop: [], rename: {}, defaults: {}, ...parameters },
    maxOutputTokens: null,
  })
}

const noImage: FetchImage = () => expect.fail('it has no image')

/** The request as the gateway has it written for Gemini. */
export async function writtenFor(
  request: object,
  settings: Settings = {},
): Promise<{ readonly call: ChatCall | Failure; readonly dropped: readonly string[] }> {
  const { unmarked = 'kept', fetchImage = noImage } = settings
  const dialect = geminiDialect(settings)
  const body = { messages: [{ role: 'user', content: 'Hi' }], ...request }
  const before = JSON.stringify(body)
  const adapted = {
    body,
    mode: 'plain',
    dialect,
    outputLimit: null,
    unmarked,
    bodyBytes: 0,
    fetchImage,
  } as const
  const { call, dropped } = adaptChatRequest(adapted)
  expect(findDropped(body, dialect)).toEqual(dropped)
  const written = await call
  expect(JSON.stringify(body), 'the canonical request stays as it is').toBe(before)
  return { call: written, dropped }
}

/** The body that is sent. */
export async function sentFor(request: object, settings: Settings = {}) {
  const { call, dropped } = await writtenFor(request, settings)
  if (isFailure(call)) throw new Error(call.message ?? call.result)
  return { sent: JSON.parse(JSON.stringify(call.json)), text: JSON.stringify(call.json), dropped, call }
}

/** The rejection of a request that cannot be written. */
export async function rejectionOf(request: object, settings: Settings = {}): Promise<Failure> {
  const { call } = await writtenFor(request, settings)
  if (!isFailure(call)) throw new Error(`it was written: ${JSON.stringify(call.json)}`)
  return call
}
