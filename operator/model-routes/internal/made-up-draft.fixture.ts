import type { RouteDraft } from '#core/catalog/route-resource'

/** A backend of provider `p`. */
export const aBackend = { name: 'main', provider: 'p', model: 'm', priority: 0, weight: 1 }

/** A route with two backends and a fallback. */
export const aDraftedRoute: RouteDraft['route'] = {
  model: 'a/b',
  type: 'chat',
  displayName: 'a/b',
  description: '',
  contextLength: null,
  maxOutputTokens: null,
  defaultOutputTokens: 4096,
  backends: [aBackend, { ...aBackend, name: 'spare', provider: 'q' }],
  fallbacks: ['a/c'],
  timeouts: { requestMs: 1000, firstByteMs: 1000, streamIdleMs: 1000 },
  attempts: 2,
  parameters: { drop: [], rename: {}, defaults: {} },
}
