import type { ApiProblem } from '../../api/problem.ts'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { PasswordField, TextArea, TextField } from '../../kit/fields.tsx'
import { announce } from '../../kit/toasts.tsx'
import { call, readAgain } from '../calls.ts'
import { ReasonDialog } from '../reason-dialog.tsx'
import { catalogAdminWords } from './messages.ts'

/** The object to change: its name, its spec, and the version that was read. */
type Changed = { readonly name: string; readonly spec: object; readonly etag: string | undefined }

const modelExample = {
  model: 'provider/model',
  backends: [{ name: 'main', providerRef: { name: 'provider' }, model: 'model' }],
  contextLength: 128_000,
  maxOutputTokens: 16_384,
  pricingRubPerMillionTokens: { input: '10.000', output: '30.000' },
}

/** Creates a model, or replaces the spec of one. */
export function ModelSpecDialog({
  changed,
  onClose,
}: {
  readonly changed?: Changed
  readonly onClose: () => void
}) {
  const words = useWords(catalogAdminWords)
  return (
    <ReasonDialog
      title={changed === undefined ? words.createModel : words.changeSpec}
      lead={words.specLead}
      action={changed === undefined ? words.create : words.change}
      check={(values) => ({ spec: specError(values, words.specWrong) })}
      errorsOf={errorsOfSpec}
      send={(values) => {
        const body = { spec: JSON.parse(textOf(values, 'spec')), reason: textOf(values, 'reason') }
        return changed === undefined
          ? call('POST /admin/models', { body })
          : call('PATCH /admin/models/:model', {
              params: { model: changed.name },
              body,
              ifMatch: changed.etag ?? '',
            })
      }}
      onDone={() => {
        announce(words.changed)
        void readAgain('/admin/models', '/admin/models/:model', '/admin/models/:model/prices')
      }}
      onClose={onClose}
    >
      <SpecField spec={changed?.spec ?? modelExample} />
    </ReasonDialog>
  )
}

const providerExample = { api: 'OpenAI', baseURL: 'https://api.openai.com/v1', auth: { type: 'Bearer' } }

/** Creates a provider, or replaces the spec of one, and its credential if one is entered. */
export function ProviderSpecDialog({
  changed,
  onClose,
}: {
  readonly changed?: Changed
  readonly onClose: () => void
}) {
  const words = useWords(catalogAdminWords)
  const isNew = changed === undefined
  return (
    <ReasonDialog
      title={isNew ? words.createProvider : words.changeSpec}
      lead={words.specLead}
      action={isNew ? words.create : words.change}
      check={(values) => ({
        name: isNew && textOf(values, 'name') === '' ? words.nameMissing : undefined,
        spec: specError(values, words.specWrong),
      })}
      errorsOf={errorsOfSpec}
      send={(values) => {
        const credential = textOf(values, 'credential')
        const body = {
          spec: JSON.parse(textOf(values, 'spec')),
          reason: textOf(values, 'reason'),
          ...(credential === '' ? {} : { credential }),
        }
        return isNew
          ? call('POST /admin/providers', { body: { ...body, name: textOf(values, 'name') } })
          : call('PATCH /admin/providers/:provider', {
              params: { provider: changed.name },
              body,
              ifMatch: changed.etag ?? '',
            })
      }}
      onDone={() => {
        announce(words.changed)
        void readAgain('/admin/providers', '/admin/providers/:provider')
      }}
      onClose={onClose}
    >
      {isNew && <TextField name="name" label={words.name} autoComplete="off" />}
      <SpecField spec={changed?.spec ?? providerExample} />
      <PasswordField
        name="credential"
        label={words.credential}
        autoComplete="new-password"
        {...(!isNew && { hint: words.credentialHint })}
      />
    </ReasonDialog>
  )
}

function SpecField({ spec }: { readonly spec: object }) {
  const words = useWords(catalogAdminWords)
  return (
    <TextArea
      name="spec"
      label={words.spec}
      rows={16}
      spellCheck={false}
      defaultValue={JSON.stringify(spec, null, 2)}
    />
  )
}

function specError(values: FormData, message: string): string | undefined {
  try {
    const spec: unknown = JSON.parse(textOf(values, 'spec'))
    return typeof spec === 'object' && spec !== null ? undefined : message
  } catch {
    return message
  }
}

/** The errors of every part of the spec, at its one field. */
function errorsOfSpec({ errors }: ApiProblem): Readonly<Record<string, string>> | undefined {
  if (errors.length === 0) return undefined
  const isOfSpec = (path: string) => path === 'spec' || path.startsWith('spec.')
  const ofSpec = errors.filter(({ path }) => isOfSpec(path)).map(({ path, message }) => `${path}: ${message}`)
  const others = errors.filter(({ path }) => !isOfSpec(path)).map(({ path, message }) => [path, message])
  return { ...Object.fromEntries(others), ...(ofSpec.length > 0 && { spec: ofSpec.join('; ') }) }
}
