import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { locale } from './fields.ts'

const document = z.object({
  kind: z.enum(['offer', 'personal_data']),
  version: z.string(),
  locale,
  sha256: z.string(),
  /** The URL of its text. */
  url: z.string(),
})

/** A version never changes. */
const cacheSeconds = 3_600

export const listLegalDocuments = {
  operation: 'listLegalDocuments',
  summary: 'List all versions of the legal documents, newest first',
  method: 'GET',
  url: '/api/v1/legal/documents',
  access: { to: 'anyone' },
  answers: { 200: z.object({ data: z.array(document) }) },
  cacheSeconds: 60,
} as const satisfies Contract

export const readLegalDocument = {
  operation: 'readLegalDocument',
  summary: 'Read one version in one language, as Markdown',
  method: 'GET',
  url: '/api/v1/legal/documents/:kind/:version/:locale',
  access: { to: 'anyone' },
  params: z.strictObject({
    kind: z.string().max(64),
    version: z.string().max(64),
    locale: z.string().max(64),
  }),
  answers: { 200: document.extend({ text: z.string() }) },
  problems: ['not_found'],
  cacheSeconds,
} as const satisfies Contract
