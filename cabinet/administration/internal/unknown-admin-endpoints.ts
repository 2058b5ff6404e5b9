import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { notFound } from '../../api/problem.ts'

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const

/** Unknown administration paths require an administrator, too, so that others cannot discover which paths exist. */
export const unknownAdminEndpoints: readonly Endpoint[] = methods.map((method) =>
  endpoint(
    {
      operation: 'unknownAdminEndpoint',
      summary: 'Any other administration path',
      method,
      url: '/api/v1/admin/*',
      access: { to: 'administrator' },
      answers: { 204: 'nothing' },
    },
    async () => notFound,
  ),
)
