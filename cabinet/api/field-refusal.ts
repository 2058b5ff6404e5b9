import type { z } from 'zod'
import type { FieldError } from './problem.ts'

/** Why a well-formed value is rejected, in our own error messages. */
export type FieldRefusal = { readonly code: string; readonly en: string; readonly ru: string }

/** Rejects a value in its schema. The response's `errors[]` then has this code and message. */
export function refuseField(context: z.core.$RefinementCtx, refusal: FieldRefusal): void {
  context.addIssue({ code: 'custom', params: { refusal }, input: context.value })
}

/** The rejection noted by `refuseField`. `undefined`: zod itself found the issue. */
export function findFieldRefusal(
  issue: z.core.$ZodIssue,
  locale: 'en' | 'ru',
): Pick<FieldError, 'code' | 'message'> | undefined {
  const refusal = issue.code === 'custom' ? (issue.params?.refusal as FieldRefusal | undefined) : undefined
  return refusal === undefined ? undefined : { code: refusal.code, message: refusal[locale] }
}
