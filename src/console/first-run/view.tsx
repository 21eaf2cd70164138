// Shows the first steps: a talkgroup, the microphone, and for administrators the first people.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { show } from '../app/places.js';
import { Icon } from '../icons/icon.js';
import { MicrophoneStep } from './microphone-step.js';
import { createPeople, type People } from './people.js';
import { openStep, type StepName } from './state.js';
import { firstRun as words } from './texts.js';

export default function FirstRunView() {
  const desk = currentDesk.value;
  return desk === null ? null : <FirstRun desk={desk} />;
}

type Step = {
  name: StepName;
  isDone: boolean;
  isPossible: boolean;
  title: string;
  content: ComponentChildren;
};

function FirstRun({ desk }: { desk: Desk }) {
  const { account, talkgroups, firstRun, settings } = desk;
  const people = useMemo(() => createPeople(account.rest, account.userId), [account]);
  const [first] = talkgroups.tiles.value;
  const isAdmin = account.role === 'admin';
  useEffect(() => {
    if (isAdmin && first !== undefined) void people.look(first.id);
  }, [isAdmin, first?.id, people]);
  const hasTalkgroup = first !== undefined;
  const steps: Step[] = [
    {
      name: 'talkgroup',
      isDone: hasTalkgroup,
      isPossible: isAdmin,
      title: isAdmin ? words.talkgroup.title : words.talkgroup.memberTitle,
      content: <TalkgroupStep desk={desk} people={people} />,
    },
    {
      name: 'microphone',
      isDone: settings.settings.value.isSetUp || firstRun.wasAllowed.value === true,
      isPossible: true,
      title: words.microphone.title,
      content: <MicrophoneStep desk={desk} />,
    },
    ...(isAdmin ? [peopleStep(people, first?.id)] : []),
  ];
  const open = openStep(steps);
  const at = steps.findIndex(({ name }) => name === open);
  const list = useStepFocus(open);
  return (
    <section class="first-run" aria-labelledby="first-run">
      <h2 id="first-run">{words.title(steps.length)}</h2>
      <p class="quiet">{words.hint}</p>
      <ol ref={list}>
        {steps.map((step, index) => (
          <StepCard key={step.name} step={step} number={index + 1} isOpen={step.name === open} />
        ))}
      </ol>
      <div class="first-run-foot">
        <button
          type="button"
          class={open === null ? 'primary' : 'link'}
          onClick={() => {
            settings.change({ isSetUp: true });
            firstRun.leave();
          }}
        >
          {open === null ? words.finish : words.leave}
        </button>
        <p role="status">{open === null ? words.allDone : words.step(at + 1, steps.length)}</p>
      </div>
    </section>
  );
}

/** The button that finished a step is removed. The focus goes on to the head of the next one. */
function useStepFocus(open: StepName | null): { current: HTMLOListElement | null } {
  const list = useRef<HTMLOListElement>(null);
  const before = useRef(open);
  useLayoutEffect(() => {
    if (before.current !== open && document.activeElement === document.body)
      list.current?.querySelector<HTMLElement>('.open h3')?.focus();
    before.current = open;
  }, [open]);
  return list;
}

function StepCard({ step, number, isOpen }: { step: Step; number: number; isOpen: boolean }) {
  const { name, isDone, title, content } = step;
  return (
    <li class={`card ${isOpen ? 'open' : ''}`} aria-current={isOpen ? 'step' : undefined}>
      <span class={`number ${isDone ? 'done' : ''}`} aria-hidden="true">
        {isDone ? <Icon name="check" /> : number}
      </span>
      <div>
        <h3 tabIndex={-1}>
          {title}
          {isDone && <span class="visually-hidden">, {words.done}</span>}
        </h3>
        {/* What is said to a user who cannot do a step is in sight while another one is open. */}
        {isOpen || isDone || name === 'talkgroup' ? content : <p class="quiet">{words[name].hint}</p>}
      </div>
    </li>
  );
}

function TalkgroupStep({ desk, people }: { desk: Desk; people: People }) {
  const { account, talkgroups, firstRun } = desk;
  const [first] = talkgroups.tiles.value;
  const texts = words.talkgroup;
  if (first !== undefined) {
    return (
      <p class="quiet name">
        <Phrase say={texts.has} names={[first.view.value.name]} />
      </p>
    );
  }
  if (account.role !== 'admin') {
    return (
      <p class="name">
        <Phrase say={texts.ask} names={[account.username]} />
      </p>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        firstRun.begin();
        void people.createTalkgroup(String(new FormData(event.currentTarget).get('name')));
      }}
    >
      <p class="quiet">{texts.hint}</p>
      <div class="first-run-fields">
        <label class="field">
          {texts.name}
          <input name="name" required maxLength={128} autocomplete="off" />
        </label>
        <button type="submit" class="primary" aria-disabled={people.isBusy.value}>
          {texts.create}
        </button>
      </div>
      <Said people={people} />
    </form>
  );
}

const peopleStep = (people: People, talkgroupId: string | undefined): Step => ({
  name: 'people',
  isDone: people.hasOthers.value,
  isPossible: talkgroupId !== undefined,
  title: words.people.title,
  content: <PeopleStep people={people} talkgroupId={talkgroupId} />,
});

function PeopleStep({ people, talkgroupId }: { people: People; talkgroupId: string | undefined }) {
  const texts = words.people;
  // After the first one the form stays for the next.
  if (people.hasOthers.value && people.outcome.value === null) return <p class="quiet">{texts.has}</p>;
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault();
        const form = event.currentTarget;
        const data = new FormData(form);
        const person = { username: String(data.get('username')), password: String(data.get('password')) };
        if (talkgroupId !== undefined && (await people.add(talkgroupId, person))) form.reset();
      }}
    >
      <p class="quiet">{texts.hint}</p>
      <div class="first-run-fields">
        <label class="field">
          {texts.username}
          <input name="username" required autocomplete="off" autocapitalize="none" spellcheck={false} />
        </label>
        <label class="field">
          {texts.password}
          <input name="password" type="password" required autocomplete="new-password" />
        </label>
        <button type="submit" aria-disabled={people.isBusy.value}>
          {texts.add}
        </button>
        <button type="button" class="link" onClick={() => show('admin')}>
          {texts.admin}
        </button>
      </div>
      <Said people={people} />
    </form>
  );
}

function Said({ people: { outcome } }: { people: People }) {
  const now = outcome.value;
  return (
    <p role="status" class={now?.isError ? 'error said' : 'quiet said'}>
      {now?.text}
    </p>
  );
}
