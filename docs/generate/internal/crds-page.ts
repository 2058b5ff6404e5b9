import { z } from 'zod'
import { definitions } from '#crds/definition'
import { code, page, table } from './markdown.ts'

type Schema = {
  readonly type?: string | undefined
  readonly description?: string | undefined
  readonly default?: unknown
  readonly enum?: readonly unknown[] | undefined
  readonly required?: readonly string[] | undefined
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly items?: Schema | undefined
}

const schemaSchema: z.ZodType<Schema> = z.object({
  type: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), schemaSchema).optional()
  },
  get items() {
    return schemaSchema.optional()
  },
})

const definitionSchema = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ kind: z.string(), shortNames: z.array(z.string()) }),
    versions: z.tuple([z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: schemaSchema }) })]),
  }),
})

export function crdsPage(): string {
  return page(
    '# Custom resources',
    'Made by `npm run docs` from the schemas in [`crds/`](../../crds/README.md). `kubectl explain` shows the same texts.',
    ...[...definitions().values()].flatMap(kindParts),
  )
}

function kindParts(definition: object): readonly string[] {
  const { group, names, versions } = definitionSchema.parse(definition).spec
  const [{ name: version, schema }] = versions
  const { properties = {}, description = '' } = schema.openAPIV3Schema
  const fieldsOf = (part: string) => fieldRows(properties[part] ?? {}, part)
  return [
    `## ${names.kind}`,
    `\`${group}/${version}\`, short name \`${names.shortNames.join('`, `')}\`. ${description}`.trim(),
    table(['field', 'type', 'default', 'meaning'], [...fieldsOf('spec'), ...fieldsOf('status')]),
  ]
}

function fieldRows(
  { properties = {}, required = [] }: Schema,
  parent: string,
): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${parent}.${name}`
    const byDefault = field.default === undefined ? '' : code(JSON.stringify(field.default))
    const row = [
      code(path),
      typeOf(field),
      required.includes(name) ? 'required' : byDefault,
      withoutTags(field.description ?? ''),
    ]
    return [row, ...fieldRows(field, path), ...fieldRows(field.items ?? {}, `${path}[]`)]
  })
}

function typeOf({ type = 'any', enum: values, items }: Schema): string {
  if (values !== undefined) return values.map((value) => code(String(value))).join(', ')
  return type === 'array' && items !== undefined ? `list of ${typeOf(items)}` : type
}

/** Markdown would read `<name>` as a tag. */
const withoutTags = (text: string) => text.replaceAll('<', '\\<')
