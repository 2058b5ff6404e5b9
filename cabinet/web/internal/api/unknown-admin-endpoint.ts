import { endpoint } from '../../../api/endpoint.ts'

/** Whoever is no administrator learns nothing about what administrators have. */
export const unknownAdminEndpoint = endpoint(
  {
    operation: 'unknownAdminEndpoint',
    summary: 'Any other address of administration',
    method: 'GET',
    url: '/api/v1/admin/*',
    access: { to: 'administrator' },
    answers: { 204: 'nothing' },
  },
  async () => ({ problem: { code: 'not_found' } }),
)
