import { type Endpoint, endpoint } from '../../../api/endpoint.ts'

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const

/** Whoever is no administrator learns nothing about what administrators have. */
export const unknownAdminEndpoints: readonly Endpoint[] = methods.map((method) =>
  endpoint(
    {
      operation: 'unknownAdminEndpoint',
      summary: 'Any other address of administration',
      method,
      url: '/api/v1/admin/*',
      access: { to: 'administrator' },
      answers: { 204: 'nothing' },
    },
    async () => ({ problem: { code: 'not_found' } }),
  ),
)
