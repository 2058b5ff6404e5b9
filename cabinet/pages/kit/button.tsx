import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'
import { isPublicDocument } from '../public-addresses.ts'
import { classNames } from './class-names.ts'
import { Icon, type IconName } from './icon.tsx'

/** One `primary` per view: the main action. `danger`: cannot be undone. `quiet`: next to other controls. */
export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger'

type Looks = {
  readonly variant?: ButtonVariant
  readonly size?: 'medium' | 'small'
  readonly icon?: IconName
  readonly children: ReactNode
}

const variants: Readonly<Record<ButtonVariant, string>> = {
  primary: 'border-transparent bg-accent text-on-accent hover:bg-accent-strong shadow-raised',
  secondary: 'border-line bg-raised text-ink hover:bg-hover shadow-raised',
  quiet: 'border-transparent text-muted hover:bg-hover hover:text-ink',
  danger: 'border-transparent bg-danger text-on-danger hover:bg-danger-strong shadow-raised',
}

/** For elements that only look like a button. */
export function looksOf({ variant = 'secondary', size = 'medium' }: Pick<Looks, 'variant' | 'size'>): string {
  return classNames(
    'inline-flex max-w-full items-center justify-center gap-2 rounded-md border font-medium no-underline transition-colors',
    'disabled:opacity-60 aria-disabled:opacity-60',
    size === 'medium' ? 'min-h-10 px-4 py-2 text-base' : 'min-h-8 px-3 py-1 text-sm @3xl:whitespace-nowrap',
    variants[variant],
  )
}

type ButtonProps = Looks & {
  /** In progress: it keeps its size and focus, and further clicks do nothing. */
  readonly isPending?: boolean
} & Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'>

export function Button({
  variant,
  size,
  icon,
  isPending = false,
  children,
  onClick,
  type,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type ?? 'button'}
      aria-busy={isPending || undefined}
      aria-disabled={isPending || undefined}
      className={looksOf({ ...(variant && { variant }), ...(size && { size }) })}
      onClick={(event) => {
        // The second click of a double click is ignored: by then the button may do the opposite.
        if (isPending || event.detail > 1) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {icon && <Icon name={icon} size={size === 'small' ? 16 : 20} />}
      <span className={classNames('min-w-0', isPending && 'breathing')}>{children}</span>
    </button>
  )
}

/** A link that looks like a button; it only navigates. */
export function ButtonLink({ href, icon, children, ...looks }: Looks & { readonly href: string }) {
  const content = (
    <>
      {icon && <Icon name={icon} size={looks.size === 'small' ? 16 : 20} />}
      <span className="min-w-0">{children}</span>
    </>
  )
  if (isPublicDocument(href))
    return (
      <a href={href} className={looksOf(looks)}>
        {content}
      </a>
    )
  return (
    <Link href={href} className={looksOf(looks)}>
      {content}
    </Link>
  )
}

/** A button that is only an icon; `label` is its accessible name. `small`: for dense rows. */
export function IconButton({
  label,
  icon,
  size = 'medium',
  ...rest
}: { readonly label: string; readonly icon: IconName; readonly size?: Looks['size'] } & Omit<
  ButtonHTMLAttributes<HTMLButtonElement>,
  'className' | 'children'
>) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={classNames(
        'inline-flex shrink-0 items-center justify-center rounded-md text-muted transition-colors hover:bg-hover hover:text-ink',
        size === 'medium' ? 'size-9' : 'size-6',
      )}
    >
      <Icon name={icon} size={size === 'medium' ? 20 : 16} />
    </button>
  )
}
