import type { Queryable } from '#core/db/pool'
import type { Locale } from '../api/access.ts'
import { shippedTexts } from './internal/shipped-texts.ts'
import {
  type LegalKind,
  type LegalText,
  type LegalVersion,
  legalDay,
  type SignUpKind,
  versionInForce,
  versionsInForce,
} from './legal-version.ts'

/** More rows than documents will ever have versions and languages. */
const versionsMax = 2_000

/** Every version that came with a release or was published here, newest first. */
export async function listLegalVersions(client: Queryable): Promise<readonly LegalVersion[]> {
  const { rows } = await client.query<LegalVersion>(
    'select kind, version, locale, sha256 from legal_texts order by version desc limit $1',
    [versionsMax],
  )
  const shipped = shippedTexts.map(({ text: _, ...version }) => version)
  return [...shipped, ...rows].toSorted(
    (a, b) =>
      b.version.localeCompare(a.version) || a.kind.localeCompare(b.kind) || b.locale.localeCompare(a.locale),
  )
}

/** The versions that every user accepts now, one of each kind. */
export async function readVersionsInForce(
  client: Queryable,
  locale: Locale,
): Promise<readonly (LegalVersion & { readonly kind: SignUpKind })[]> {
  return versionsInForce(await listLegalVersions(client), locale, legalDay(new Date()))
}

/** The version of one document that is accepted now. */
export async function readVersionInForce(
  client: Queryable,
  kind: LegalKind,
  locale: Locale,
): Promise<LegalVersion> {
  return versionInForce(await listLegalVersions(client), kind, { locale, day: legalDay(new Date()) })
}

/** The text of one version. */
export async function findLegalText(
  client: Queryable,
  { kind, version, locale }: Readonly<Record<'kind' | 'version' | 'locale', string>>,
): Promise<LegalText | undefined> {
  const shipped = shippedTexts.find(
    (one) => one.kind === kind && one.version === version && one.locale === locale,
  )
  if (shipped !== undefined) return shipped
  return findPublished(client, 'kind = $1 and version = $2 and locale = $3', [kind, version, locale])
}

/** The text that a consent names by its hash. */
export async function findLegalTextByHash(client: Queryable, sha256: string): Promise<LegalText | undefined> {
  const shipped = shippedTexts.find((one) => one.sha256 === sha256)
  return shipped ?? findPublished(client, 'sha256 = $1', [sha256])
}

async function findPublished(
  client: Queryable,
  which: string,
  values: string[],
): Promise<LegalText | undefined> {
  const { rows } = await client.query<LegalText>(
    `select kind, version, locale, sha256, text from legal_texts where ${which} limit 1`,
    values,
  )
  return rows[0]
}
