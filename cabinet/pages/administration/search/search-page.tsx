import { useState } from 'react'
import { administrationRoutes } from '../../administration-routes.ts'
import { onlyErrors, textOf } from '../../features/entry/checks.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { call } from '../calls.ts'
import type { Found } from './found.ts'
import { searchWords } from './messages.ts'
import { SearchResults } from './search-results.tsx'

const lengthMax = 200

/** The last result, so that Back shows it again. It is only in this document, and in no address. */
let last: { readonly text: string; readonly found: Found } | undefined

/** One field for everything that a customer may name. */
export function SearchPage() {
  const words = useWords(searchWords)
  const title = administrationRoutes['/app'].title[useLanguage()]
  const [shown, setShown] = useState(last)
  const show = (found: Found, text: string) => {
    last = { text, found }
    setShown(last)
  }
  const find = (text: string) => call('POST /admin/search', { body: { text } })
  const findAgain = async (text: string) => show(await find(text), text)
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      <div className="grid gap-6">
        <Section title={words.text}>
          <Form
            check={(values) => onlyErrors({ text: errorOf(textOf(values, 'text').trim(), words) })}
            send={(values) => find(textOf(values, 'text'))}
            onDone={(found, values) => show(found, textOf(values, 'text'))}
          >
            <TextField
              name="text"
              label={words.text}
              hint={words.hint}
              defaultValue={last?.text}
              autoComplete="off"
              spellCheck={false}
            />
            <div>
              <SubmitButton>{words.find}</SubmitButton>
            </div>
          </Form>
        </Section>
        <div role="status" className="grid gap-6">
          {shown !== undefined && (
            <SearchResults found={shown.found} onChange={() => void findAgain(shown.text)} />
          )}
        </div>
      </div>
    </>
  )
}

function errorOf(text: string, words: (typeof searchWords)['ru']): string | undefined {
  if (text === '') return words.missing
  return text.length > lengthMax ? words.tooLong : undefined
}
