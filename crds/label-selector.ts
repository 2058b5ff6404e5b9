import { z } from 'zod'
import { patterned } from './resource.ts'
import { ruled } from './rule.ts'

/** Requirements of one selector, and values of one requirement. */
const requirementsMax = 16

const labelKey = patterned(
  317,
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
  'must be a valid label key',
)
const valuePattern = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/
const labelValue = patterned(63, valuePattern, 'must be a valid label value')

const requirement = ruled(
  z.strictObject({
    key: labelKey.describe('Key of the label.'),
    operator: z
      .enum(['In', 'NotIn', 'Exists', 'DoesNotExist'])
      .describe('How the label relates to values: In, NotIn, Exists or DoesNotExist.'),
    values: z
      .array(labelValue)
      .max(requirementsMax)
      .default([])
      .describe('Values of the label. Required for In and NotIn; empty otherwise.'),
  }),
  [
    {
      cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
      message: 'must be set when operator is In or NotIn, and only then',
      holds: ({ operator, values }) => ['In', 'NotIn'].includes(operator) === values.length > 0,
      field: 'values',
    },
  ],
)

/** Selects objects by their labels, as `metav1.LabelSelector` does. One that would select all is rejected. */
export const labelSelector = ruled(
  z.strictObject({
    matchLabels: z
      .record(z.string(), labelValue)
      .refine((labels) => Object.keys(labels).length <= requirementsMax, {
        error: `must have at most ${requirementsMax} entries`,
      })
      .meta({ maxProperties: requirementsMax })
      .default({})
      .describe('Labels that must all have these values.'),
    matchExpressions: z
      .array(requirement)
      .max(requirementsMax)
      .default([])
      .describe('Requirements that must all be met.'),
  }),
  [
    {
      cel: '(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && self.matchExpressions.size() > 0)',
      message: 'must have matchLabels or matchExpressions: to select all, set from to All',
      holds: ({ matchLabels, matchExpressions }) =>
        Object.keys(matchLabels).length + matchExpressions.length > 0,
    },
  ],
)

export type LabelSelector = z.infer<typeof labelSelector>

/** Whether an object with these labels is selected. Pure. */
export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const labelOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
  return (
    Object.entries(selector.matchLabels).every(([key, value]) => labelOf(key) === value) &&
    selector.matchExpressions.every((requirement) => isMet(requirement, labelOf(requirement.key)))
  )
}

function isMet({ operator, values }: z.infer<typeof requirement>, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}
