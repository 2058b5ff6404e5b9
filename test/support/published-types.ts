import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, parseSync } from 'oxc-parser'

const packages = join(import.meta.dirname, '../../node_modules')

/** A declaration, and those that its names are looked up in: the innermost last. */
type Declared = { readonly node: Node; readonly scopes: readonly Scope[] }
type Scope = Map<string, Declared>

/** The problem of a value and its place; `undefined`: the value has the type. */
type Problem = string | undefined

/**
 * Checks JSON against a type that an SDK publishes: every field that is required is there, every value has its type, and no
 * field is unknown.
 *
 * @param except ends of paths of fields that differ from the type, each with the reason why.
 */
export function publishedType(
  name: string,
  except: Readonly<Record<string, string>> = {},
  sdk: keyof typeof declarations = 'openai',
) {
  const declared = declarations[sdk].get(name)
  if (declared === undefined) throw new Error(`${sdk} publishes no type ${name}`)
  return (value: unknown): Problem => check(value, declared, name, except)
}

type Except = Readonly<Record<string, string>>

function check(value: unknown, { node, scopes }: Declared, path: string, except: Except): Problem {
  const isNot = (what: string) => `${path} is ${JSON.stringify(value)} and not ${what}`
  const inner = (child: Node, at = path, of = value) => check(of, { node: child, scopes }, at, except)
  switch (node.type) {
    case 'TSStringKeyword':
      return typeof value === 'string' ? undefined : isNot('a string')
    case 'TSNumberKeyword':
      return typeof value === 'number' ? undefined : isNot('a number')
    case 'TSBooleanKeyword':
      return typeof value === 'boolean' ? undefined : isNot('a boolean')
    case 'TSNullKeyword':
      return value === null ? undefined : isNot('null')
    case 'TSUnknownKeyword':
      return undefined
    case 'TSLiteralType':
      return 'value' in node.literal && node.literal.value === value
        ? undefined
        : isNot(JSON.stringify(node.literal))
    case 'TSArrayType':
      return listProblem(value, node.elementType)
    case 'TSUnionType':
      return unionProblem(value, node.types, path, inner)
    case 'TSIntersectionType': // a string with completions
      return inner(node.types[0] as Node)
    case 'TSParenthesizedType':
    case 'TSTypeAliasDeclaration':
      return inner(node.typeAnnotation)
    case 'TSInterfaceDeclaration':
    case 'TSTypeLiteral':
      return objectProblem(value, { node, scopes }, path, except)
    case 'TSTypeReference': {
      const name = nameOf(node.typeName as Node)
      const [parameter] = node.typeArguments?.params ?? []
      if (name === 'Array' && parameter !== undefined) return listProblem(value, parameter)
      return check(value, lookUp(name, scopes), path, except)
    }
    default:
      throw new Error(`${path} has a type that this check does not know: ${node.type}`)
  }

  function listProblem(list: unknown, item: Node): Problem {
    if (!Array.isArray(list)) return isNot('an array')
    return list.map((one, at) => inner(item, `${path}[${at}]`, one)).find((problem) => problem !== undefined)
  }
}

/** Of several types the problem is that of the one with the same `type`. */
function unionProblem(
  value: unknown,
  types: readonly Node[],
  path: string,
  inner: (child: Node) => Problem,
): Problem {
  const problems = types.map((type) => inner(type))
  if (problems.includes(undefined)) return undefined
  const isOtherKind = (problem: Problem) => problem?.startsWith(`${path}.type `)
  return (
    problems.find((problem) => !isOtherKind(problem)) ?? `${path} is ${JSON.stringify(value)}: ${problems[0]}`
  )
}

function objectProblem(value: unknown, declared: Declared, path: string, except: Except): Problem {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} is no object`
  const fields = Object.entries(value)
  const members = membersOf(declared)
  const known = new Map<
    string,
    { readonly type: Node; readonly optional: boolean; readonly scopes: readonly Scope[] }
  >()
  let isOpen = false
  for (const { member, scopes } of members) {
    if (member.type === 'TSIndexSignature') isOpen = true
    if (member.type !== 'TSPropertySignature' || member.typeAnnotation === null) continue
    const type = member.typeAnnotation?.typeAnnotation as Node
    known.set(nameOf(member.key as Node), { type, optional: member.optional, scopes })
  }
  const kind = 'type' in value ? known.get('type') : undefined
  const wrongKind =
    kind &&
    check(
      (value as { type?: unknown }).type,
      { node: kind.type, scopes: kind.scopes },
      `${path}.type`,
      except,
    )
  if (wrongKind !== undefined) return wrongKind
  for (const [name, { optional }] of known)
    if (!optional && !(name in value) && !isExcepted(`${path}.${name}`, except))
      return `${path}.${name} is missing`
  for (const [name, inner] of fields) {
    const field = known.get(name)
    if (field === undefined && isExcepted(`${path}.${name}`, except)) continue
    if (inner === null && field?.optional === true) continue // OpenAI itself sends null for such fields
    if (field === undefined && !isOpen) return `${path}.${name} is not published`
    const problem =
      field && check(inner, { node: field.type, scopes: field.scopes }, `${path}.${name}`, except)
    if (problem !== undefined) return problem
  }
  return undefined
}

function isExcepted(path: string, except: Except): boolean {
  return Object.keys(except).some((end) => path.endsWith(end))
}

type Member = { readonly member: Node; readonly scopes: readonly Scope[] }

function membersOf({ node, scopes }: Declared): readonly Member[] {
  if (node.type === 'TSTypeLiteral') return node.members.map((member) => ({ member: member as Node, scopes }))
  if (node.type !== 'TSInterfaceDeclaration') throw new Error(`no interface: ${node.type}`)
  const inherited = node.extends.flatMap(({ expression }) =>
    membersOf(lookUp(nameOf(expression as Node), scopes)),
  )
  return [...inherited, ...node.body.body.map((member) => ({ member: member as Node, scopes }))]
}

function nameOf(node: Node): string {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'Literal') return String(node.value)
  if (node.type === 'TSQualifiedName') return `${nameOf(node.left as Node)}.${node.right.name}`
  throw new Error(`no name: ${node.type}`)
}

/** `Shared`, `ResponsesAPI` and `MessagesAPI` are how the files import each other. */
function lookUp(name: string, scopes: readonly Scope[]): Declared {
  const own = name.replace(/^(?:Responses|Messages)API\./, '')
  const found = own.startsWith('Shared.')
    ? shared.get(own.slice('Shared.'.length))
    : scopes.findLast((scope) => scope.has(own))?.get(own)
  if (found === undefined) throw new Error(`the SDK publishes no type ${name}`)
  return found
}

function declarationsOf(file: string): Scope {
  const source = readFileSync(join(packages, file), 'utf8')
  const scope: Scope = new Map()
  collect(parseSync(file, source).program.body as readonly Node[], scope, [scope], '')
  return scope
}

/** Types of namespaces are there by both names: those of within it by their own. */
function collect(nodes: readonly Node[], outer: Scope, scopes: readonly Scope[], prefix: string): void {
  for (const given of nodes) {
    const node = given.type === 'ExportNamedDeclaration' ? (given.declaration as Node | null) : given
    if (node?.type === 'TSInterfaceDeclaration' || node?.type === 'TSTypeAliasDeclaration') {
      outer.set(`${prefix}${node.id.name}`, { node, scopes })
      scopes.at(-1)?.set(node.id.name, { node, scopes })
    }
    if (node?.type === 'TSModuleDeclaration' && node.body?.type === 'TSModuleBlock')
      collect(
        node.body.body as readonly Node[],
        outer,
        [...scopes, new Map()],
        `${prefix}${nameOf(node.id as Node)}.`,
      )
  }
}

const shared = declarationsOf('openai/resources/shared.d.ts')
const declarations = {
  openai: declarationsOf('openai/resources/responses/responses.d.ts'),
  anthropic: declarationsOf('@anthropic-ai/sdk/resources/messages/messages.d.ts'),
  'anthropic models': declarationsOf('@anthropic-ai/sdk/resources/models.d.ts'),
}
