import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InspectedKey } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { keyRefusal } from '../wire/errors.ts'
import { type RejectionFormat, sendPlain, sendRefusal } from './answer.ts'
import type { InspectCaller } from './key-first.ts'
import { endOfLookup, endOfRefusal, type NoteEnd } from './request-end.ts'

export type KeyedDeps = { readonly inspect: InspectCaller; readonly noteEnd: NoteEnd }

/** Answers a request that needs only a working key; what is wrong with the key comes first. */
export async function answerKeyed(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: KeyedDeps,
  respond: (key: InspectedKey) => { readonly body: object } | { readonly refusal: Refusal },
  rejections?: RejectionFormat,
): Promise<void> {
  const { id: requestId } = request
  const inspection = await deps.inspect(request)
  const answer =
    inspection.outcome === 'refused' ? { refusal: keyRefusal(inspection) } : respond(inspection.key)
  reply.hijack()
  if ('refusal' in answer) sendRefusal(reply.raw, answer.refusal, { requestId }, rejections)
  else sendPlain(reply.raw, JSON.stringify(answer.body), { requestId })
  const { key } = inspection
  deps.noteEnd(request, 'refusal' in answer ? endOfRefusal({ ...answer, key }) : endOfLookup(key))
}
