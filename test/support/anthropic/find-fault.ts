import type { RequestHead } from '../upstream.ts'
import { contentRules } from './content-rules.ts'
import { apiVersions, findModel } from './models.ts'
import { optionRules } from './option-rules.ts'
import { findShapeFault, type MessagesRequest } from './request-shape.ts'
import { first } from './schema.ts'
import { turnRules } from './turn-rules.ts'

/** A rejection as the API sends it. */
type Fault = { readonly status: number; readonly type: string; readonly message: string }

const rules = [...optionRules, ...turnRules, ...contentRules]

export const pathOf = ({ path }: Pick<RequestHead, 'path'>) => path.split('?', 1)[0] ?? ''

/** What Anthropic would reject a request for, or `undefined`. */
export function findAnthropicFault(head: RequestHead): Fault | undefined {
  const { method, headers } = head
  const bearer = /^Bearer \S/.test(headers.authorization ?? '')
  if (!headers['x-api-key'] && !bearer)
    return { status: 401, type: 'authentication_error', message: 'x-api-key header is required' }
  const given = headers['anthropic-version']
  if (given === undefined) return invalid('anthropic-version: header is required')
  const version = Object.hasOwn(apiVersions, String(given)) ? apiVersions[String(given)] : undefined
  if (version === undefined) return invalid(`anthropic-version: "${given}" is not a valid version`)
  const path = pathOf(head)
  if (method === 'GET' && path === '/v1/models') return undefined
  const what =
    path === '/v1/messages' ? 'message' : path === '/v1/messages/count_tokens' ? 'count' : undefined
  if (method !== 'POST' || what === undefined)
    return { status: 404, type: 'not_found_error', message: 'Not found' }
  const misshapen = findShapeFault(withoutBetaFields(head), what, version)
  if (misshapen !== undefined) return invalid(misshapen)
  const request = head.body as unknown as MessagesRequest
  const model = findModel(request.model)
  if (model === undefined) return { status: 404, type: 'not_found_error', message: `model: ${request.model}` }
  const message = first(rules, (rule) => rule(request, { model, version }))
  return message === undefined ? undefined : invalid(message)
}

/** The request without fields that the API accepts with a beta only (API reference, "Beta headers"). */
function withoutBetaFields({ body, headers }: RequestHead): object {
  const betas = String(headers['anthropic-beta'] ?? '').split(/, ?/)
  const { context_management, ...fields } = body
  const request = betas.some((beta) => beta.startsWith('context-management-')) ? fields : body
  const setsOutput = betas.some((beta) => /^(?:per-turn-control|mid-conversation-output-config)-/.test(beta))
  if (!setsOutput || !Array.isArray(body.messages)) return request
  const messages = body.messages.map(({ output_config, ...turn }) => turn)
  return { ...request, messages }
}

function invalid(message: string): Fault {
  return { status: 400, type: 'invalid_request_error', message }
}
