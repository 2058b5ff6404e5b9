import { z } from 'zod'

const nothing = z.object({})
const byLink = z.object({ link: z.url({ protocol: /^https?$/ }) })
/** Absent until the cabinet has noted its address. */
const maybeLink = { link: byLink.shape.link.optional() }
/** Plain decimal of rubles. */
const rub = z.string()
/** The organization's name, and the amount paid or refunded. */
const payment = { organization: z.string(), amount: rub }

/** The content of an email, by its kind. `email_outbox` keeps `vars` until the email is sent. */
export const letterContentSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('verify_email'), vars: byLink }),
  z.object({
    kind: z.literal('already_registered'),
    vars: z.object({ loginLink: byLink.shape.link, resetLink: byLink.shape.link }),
  }),
  z.object({ kind: z.literal('reset_password'), vars: byLink }),
  z.object({
    kind: z.literal('password_changed'),
    /** The time of the change, in UTC as ISO 8601, and the IP address of the request. */
    vars: z.object({ at: z.iso.datetime(), address: z.string().max(64) }),
  }),
  z.object({
    kind: z.literal('low_balance'),
    /** The organization's name, and plain decimals of rubles. */
    vars: z.object({ organization: z.string(), balance: z.string(), threshold: z.string(), ...maybeLink }),
  }),
  z.object({
    kind: z.literal('budget_reached'),
    /** Budgets of the organization (`key` is null) and its keys, the highest share first, and how many more there are. */
    vars: z.object({
      organization: z.string(),
      budgets: z
        .array(
          z.object({
            key: z.string().nullable(),
            budget: z.enum(['daily', 'weekly', 'monthly', 'total']),
            percent: z.int(),
            spent: rub,
            limit: rub,
          }),
        )
        .min(1)
        .max(10),
      more: z.int().min(0),
      ...maybeLink,
    }),
  }),
  z.object({
    kind: z.literal('spend_spike'),
    /** The spending of today, and the median of the seven days before. */
    vars: z.object({ organization: z.string(), spent: rub, median: rub, ...maybeLink }),
  }),
  z.object({
    kind: z.literal('notification_test'),
    vars: z.object({ organization: z.string(), ...maybeLink }),
  }),
  z.object({
    kind: z.literal('payment_credited'),
    /**
     * `welcome`: the bonus credited with the payment, or null. `last4`: of the card that was charged automatically; none if a
     * user paid.
     */
    vars: z.object({
      ...payment,
      welcome: rub.nullable(),
      balance: rub,
      last4: z.string().max(4).nullish(),
    }),
  }),
  z.object({
    kind: z.literal('payment_refunded'),
    /** `amount` was refunded of `paymentAmount`. `welcome`: the bonus deducted with it, or null. */
    vars: z.object({
      ...payment,
      paymentAmount: rub,
      paymentAt: z.iso.datetime(),
      welcome: rub.nullable(),
      balance: rub,
    }),
  }),
  z.object({
    kind: z.literal('payment_canceled'),
    /** `reason`: the provider's code, or null if the provider sent none. */
    vars: z.object({ ...payment, reason: z.string().max(128).nullable() }),
  }),
  z.object({
    kind: z.literal('auto_top_up_stopped'),
    /** `amount` was to be charged. `reason`: a code of the provider, or ours. */
    vars: z.object({ ...payment, last4: z.string().max(4), reason: z.string().max(128), ...maybeLink }),
  }),
  z.object({
    kind: z.literal('invitation'),
    /** The organization's name, the invited role, and the sender's address. */
    vars: z.object({
      organization: z.string(),
      role: z.enum(['owner', 'developer', 'accountant']),
      sender: z.string(),
      ...byLink.shape,
    }),
  }),
  z.object({
    kind: z.literal('totp_reset_planned'),
    /** When the second factor is removed, in UTC as ISO 8601, and the link that cancels it. */
    vars: z.object({ at: z.iso.datetime(), ...byLink.shape }),
  }),
  z.object({ kind: z.literal('email_change'), vars: byLink }),
  z.object({
    kind: z.literal('email_change_approval'),
    /** The new address, and the link that confirms or cancels the change. */
    vars: z.object({ email: z.string(), ...byLink.shape }),
  }),
  z.object({ kind: z.literal('email_changed'), vars: z.object({ email: z.string() }) }),
  z.object({ kind: z.literal('totp_enabled'), vars: nothing }),
  z.object({ kind: z.literal('totp_disabled'), vars: nothing }),
  z.object({ kind: z.literal('passkey_added'), vars: z.object({ name: z.string() }) }),
  z.object({ kind: z.literal('passkey_removed'), vars: z.object({ name: z.string() }) }),
])

export type LetterContent = z.infer<typeof letterContentSchema>

export type LetterKind = LetterContent['kind']

/** The kinds that this version can write. Other kinds in the outbox come from a newer version and wait for it. */
export const letterKinds: readonly LetterKind[] = letterContentSchema.options.map(
  ({ shape }) => shape.kind.value,
)

/** Languages of emails. */
export type Locale = 'ru' | 'en'
