import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { endpoint } from '../../../api/endpoint.ts'
import { versionOf } from '../../../api/version.ts'

const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
const body: unknown = JSON.parse(text)
const version = versionOf(text)

/** The committed description of all endpoints. */
export const openApiEndpoint = endpoint(
  {
    operation: 'readOpenApi',
    summary: 'Read this description, as OpenAPI 3.1',
    method: 'GET',
    url: '/api/v1/openapi.json',
    access: { to: 'anyone' },
    answers: { 200: z.looseObject({ openapi: z.string() }) },
    cacheSeconds: 60,
  },
  async () => ({ status: 200, body: body as { openapi: string }, version }),
)
