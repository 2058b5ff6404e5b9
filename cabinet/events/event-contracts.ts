import type { Contract } from '../api/contract.ts'

export const readEvents = {
  operation: 'readEvents',
  summary:
    'Change hints as server-sent events: balance, keys {id}, payments {id}, resync (read everything again), alive (every 15 s), ended (the session or the membership is over)',
  method: 'GET',
  url: '/api/v1/events',
  access: { to: 'member', right: 'organization.read' },
  answers: { 200: 'events' },
} as const satisfies Contract
