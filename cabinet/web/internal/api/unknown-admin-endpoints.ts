import { type Endpoint, endpoint } from '../../../api/endpoint.ts'
import { notFound } from '../../../api/problem.ts'

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
    async () => notFound,
  ),
)
