import type { LetterContent } from './letter-content.ts'
import { momentOf } from './written-values.ts'

type Planned = Extract<LetterContent, { readonly kind: 'totp_reset_planned' }>['vars']

type Draft = {
  readonly subject: string
  readonly paragraphs: readonly (string | { readonly link: string })[]
}

/** The email about a second factor that support will remove, with the link that cancels it. Pure. */
export function draftTotpResetInRussian({ at, link }: Planned): Draft {
  return {
    subject: 'Второй фактор будет отключён по обращению в поддержку',
    paragraphs: [
      `Поддержку попросили отключить одноразовые коды вашей учётной записи в Model Gateway: вы будто бы потеряли к ним доступ. Это произойдёт ${momentOf(at, 'ru')} по московскому времени. Все входы будут завершены, резервные коды перестанут действовать, для входа будет достаточно пароля.`,
      'Если вы об этом не просили, отмените отключение по ссылке или войдите с одноразовым кодом:',
      { link },
      'После отмены смените пароль: его может знать кто-то другой.',
    ],
  }
}

export function draftTotpResetInEnglish({ at, link }: Planned): Draft {
  return {
    subject: 'Support will turn off your second factor',
    paragraphs: [
      `Support was asked to turn off the one-time codes of your Model Gateway account, because you lost access to them. This happens on ${momentOf(at, 'en')} Moscow time. All sessions end, recovery codes stop working, and the password is then enough to sign in.`,
      'If you did not ask for this, cancel it with this link, or sign in with a one-time code:',
      { link },
      'After you cancel, change your password: another person may know it.',
    ],
  }
}
