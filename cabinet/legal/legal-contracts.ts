import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { legalKinds } from './legal-version.ts'

const document = z.object({
  kind: z.enum(legalKinds),
  version: z.string().meta({ description: 'The day on which it takes effect, in Moscow.' }),
  locale: z.enum(['ru', 'en']),
  sha256: z.string(),
  /** The URL of its text. */
  url: z.string(),
})

const text = document.extend({ text: z.string() })

/** A version never changes. */
const cacheSeconds = 3_600

export const listLegalDocuments = {
  operation: 'listLegalDocuments',
  summary: 'List all versions of the legal documents, newest first',
  method: 'GET',
  url: '/api/v1/legal/documents',
  access: { to: 'anyone' },
  answers: {
    200: z.object({
      data: z.array(document.extend({ state: z.enum(['upcoming', 'in_force', 'outdated']) })),
    }),
  },
  cacheSeconds: 60,
} as const satisfies Contract

export const readLegalDocument = {
  operation: 'readLegalDocument',
  summary: 'Read one version in one language, as Markdown',
  method: 'GET',
  url: '/api/v1/legal/documents/:kind/:version/:locale',
  access: { to: 'anyone' },
  params: z.strictObject({
    kind: storable(z.string().max(64)),
    version: storable(z.string().max(64)),
    locale: storable(z.string().max(64)),
  }),
  answers: { 200: text },
  problems: ['not_found'],
  cacheSeconds,
} as const satisfies Contract

export const readLegalTextByHash = {
  operation: 'readLegalTextByHash',
  summary: 'Read the text that a consent names by its SHA-256',
  method: 'GET',
  url: '/api/v1/legal/texts/:hash',
  access: { to: 'anyone' },
  params: z.strictObject({ hash: storable(z.string().max(64)) }),
  answers: { 200: text },
  problems: ['not_found'],
  cacheSeconds,
} as const satisfies Contract
