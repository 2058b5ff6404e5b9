import { z } from 'zod'
import { group } from './resource.ts'
import { matchesCel, type Rule, ruled } from './rule.ts'

/** Entries of one map. */
const entriesMax = 32
/** Kubernetes' own bound of a label's value, and one that keeps 32 annotations below its 256 KiB. */
const labelLengthMax = 63
const annotationLengthMax = 4096

const part = '([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)'
const dnsLabel = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const nameForm = new RegExp(`^(${dnsLabel}(\\.${dnsLabel})*/)?${part}$`)
const labelForm = new RegExp(`^${part}?$`)
/** The operator's own labels and annotations, and those that other processes of this system read. */
const reservedForm = new RegExp(`^([^/]*\\.)?${group.replace('.', '\\.')}/`)
const nameLengthMax = 317

/**
 * Domains of labels and annotations that other controllers act on: they would copy a Secret, take it over or delete it.
 * Their subdomains are reserved, too. `operator/deploy/admission.yaml` has the same list.
 */
export const reservedDomains = [
  'kubernetes.io',
  'k8s.io',
  'x-k8s.io',
  'helm.sh',
  'argoproj.io',
  'fluxcd.io',
  'emberstack.com',
  'mittwald.de',
  'appscode.com',
  'stakater.com',
  'bitnami.com',
  'cert-manager.io',
  'external-secrets.io',
  'openshift.io',
  'crossplane.io',
] as const

/** Names under a reserved domain that only describe. */
export const describingNames = ['name', 'component', 'part-of', 'version'].map(
  (name) => `app.kubernetes.io/${name}`,
)

/** The prefix of a label or annotation that belongs to another controller; `undefined`: it does not. Pure. */
export function reservedPrefixOf(name: string): string | undefined {
  const end = name.indexOf('/')
  if (end < 0 || describingNames.includes(name)) return undefined
  const prefix = name.slice(0, end)
  return reservedDomains.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`))
    ? prefix
    : undefined
}

const nameRules: readonly Rule<Readonly<Record<string, string>>>[] = [
  {
    cel: `self.all(name, name.size() <= ${nameLengthMax} && ${matchesCel(nameForm, 'name')})`,
    message: 'must have names such as team or example.com/team',
    holds: (given) => Object.keys(given).every((name) => name.length <= nameLengthMax && nameForm.test(name)),
  },
  {
    cel: `!self.exists(name, ${matchesCel(reservedForm, 'name')})`,
    message: `must not use the prefix ${group}/, which is reserved`,
    holds: (given) => !Object.keys(given).some((name) => reservedForm.test(name)),
  },
]

function named(valueLengthMax: number, more: typeof nameRules = []) {
  return ruled(z.record(z.string(), z.string().max(valueLengthMax)), [...nameRules, ...more])
    .refine((given) => Object.keys(given).length <= entriesMax, {
      error: `must have at most ${entriesMax} entries`,
    })
    .meta({ maxProperties: entriesMax })
}

/** Labels and annotations that users add to a Secret that the operator writes. */
export const secretTemplate = z.strictObject({
  labels: named(labelLengthMax, [
    {
      cel: `self.all(name, ${matchesCel(labelForm, 'self[name]')})`,
      message: 'must have values of letters, digits, hyphens, dots and underscores',
      holds: (given) => Object.values(given).every((value) => labelForm.test(value)),
    },
  ])
    .default({})
    .describe(
      `Labels of the Secret, at most ${entriesMax}. The label app.kubernetes.io/managed-by is always the operator's.`,
    ),
  annotations: named(annotationLengthMax)
    .default({})
    .describe(`Annotations of the Secret, at most ${entriesMax} of ${annotationLengthMax} characters each.`),
})
