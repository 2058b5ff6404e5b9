import { z } from 'zod'
import type { Contract } from '../api/contract.ts'

export const readEvents = {
  operation: 'readEvents',
  summary:
    'Change hints as server-sent events: balance, keys {id}, payments {id}, resync (read everything again), alive (every 15 s), ended (the session or the membership is over)',
  method: 'GET',
  url: '/api/v1/events',
  access: { to: 'member', right: 'organization.read' },
  query: z.strictObject({
    since_ms: z.coerce.number().int().min(0).optional().meta({
      description:
        'When the page began to read, Unix milliseconds: if nothing has changed since, the stream begins with alive instead of resync.',
    }),
  }),
  answers: { 200: 'events' },
} as const satisfies Contract
