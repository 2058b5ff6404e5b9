import { z } from 'zod'
import { refuseField } from '../api/field-refusal.ts'
import { isCommonPassword } from './internal/common-passwords.ts'
import { plainPassword } from './password.ts'

const lengthMin = 12
const lengthMax = 128
/** A repeated pattern this short is only as strong as the pattern. */
const patternLengthMax = 6

/** A new password of 12 to 128 arbitrary characters. Common passwords and repeated patterns are rejected. */
export const newPassword = z
  .string()
  .superRefine((text, context) => {
    const plain = plainPassword(text)
    const characters = [...plain]
    const issue = { origin: 'string', inclusive: true, input: text } as const
    if (characters.length < lengthMin)
      return context.addIssue({ ...issue, code: 'too_small', minimum: lengthMin })
    if (characters.length > lengthMax)
      return context.addIssue({ ...issue, code: 'too_big', maximum: lengthMax })
    if (isRepeated(characters)) return refuseField(context, refused.repeated)
    if (isCommonPassword(plain)) refuseField(context, refused.common)
  })
  .meta({ minLength: lengthMin, maxLength: lengthMax })

const refused = {
  common: {
    code: 'common_password',
    en: 'This is one of the most common passwords. Choose another, such as four random words.',
    ru: 'Это один из самых распространённых паролей. Выберите другой, например четыре случайных слова.',
  },
  repeated: {
    code: 'repeated_password',
    en: 'This password repeats a few characters. Choose another password, such as four random words.',
    ru: 'В пароле повторяются одни и те же символы. Выберите другой пароль, например четыре случайных слова.',
  },
} as const

/** Whether a text repeats one to six characters. The last repetition may be incomplete. Pure. */
function isRepeated(characters: readonly string[]): boolean {
  return Array.from({ length: patternLengthMax }, (_, at) => at + 1).some((period) =>
    characters.every((character, at) => at < period || character === characters[at - period]),
  )
}
