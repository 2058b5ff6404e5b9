import Markdown, { type MarkdownToJSX } from 'markdown-to-jsx/react'
import type { ReactNode } from 'react'
import { TextLink } from '../../kit/text-link.tsx'

const heading = { component: 'h2', props: { className: 'mt-6 mb-2 text-xl first:mt-0' } } as const
const smaller = { component: 'h3', props: { className: 'mt-5 mb-2 text-lg' } } as const

/** HTML in a document stays text. The page heading is the only `h1`. */
const options: MarkdownToJSX.Options = {
  disableParsingRawHTML: true,
  forceBlock: true,
  wrapper: 'div',
  overrides: {
    h1: heading,
    h2: heading,
    h3: smaller,
    h4: smaller,
    h5: smaller,
    h6: smaller,
    p: { props: { className: 'my-3' } },
    ul: { props: { className: 'my-3 list-disc ps-6' } },
    ol: { props: { className: 'my-3 list-decimal ps-6' } },
    li: { props: { className: 'my-1' } },
    a: { component: DocumentLink },
  },
}

/** Renders the Markdown of a document. */
export function DocumentText({ text }: { readonly text: string }) {
  return (
    <div className="max-w-[70ch] break-words">
      <Markdown options={options}>{text}</Markdown>
    </div>
  )
}

function DocumentLink({ href, children }: { readonly href?: string; readonly children?: ReactNode }) {
  return href === undefined ? children : <TextLink href={href}>{children}</TextLink>
}
