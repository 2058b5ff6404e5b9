import type { FastifyRequest } from 'fastify'
import type { Access } from '../../../api/access.ts'
import { organizationHeader, organizationParameter } from '../../../api/organization-name.ts'

type Read = Pick<FastifyRequest, 'headers' | 'query'>

/** The organization that a call names, as it was sent. Pure. */
export function namedOrganization({ to }: Access, { headers, query }: Read): string | undefined {
  const header = headers[organizationHeader]
  if (typeof header === 'string') return header
  const parameter = to === 'member' ? (query as Query)[organizationParameter] : undefined
  return parameter === undefined ? undefined : String(parameter)
}

/** The query without the organization, for the contract. Pure. */
export function queryWithoutOrganization({ to }: Access, { query }: Pick<Read, 'query'>): unknown {
  if (to !== 'member') return query
  const { [organizationParameter]: _, ...rest } = query as Query
  return rest
}

type Query = Readonly<Record<string, unknown>>
