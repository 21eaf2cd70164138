// A radio in virtual time: presses, asks, talks and releases over its socket, and hears what its relay answers.
import { type Close, closes } from '../../../src/protocol/closes.js';
import { END, encodeFrame, START } from '../../../src/protocol/frame.js';
import type { Peer } from '../../../src/relay/delivery/peer.js';
import type { Talk } from '../../../src/relay/floor/talk.js';
import { isInEmergency, type Membership, mayTalk } from '../../../src/relay/members/members.js';
import type { Session } from '../../../src/relay/session/session.js';
import { NOWHERE, quietPeer } from '../relay/relay-alone.js';
import { TALKGROUP, TALKGROUP_ID, userIdOf } from './directory.js';
import type { Node } from './node.js';

/** One frame in this time (ms): enough to see their order. */
const FRAME_MS = 60;
/** A ping is answered after this time (ms). */
const PONG_MS = 1;
/** It connects again after this time (ms). */
const RETRY_MS = 200;
const PAYLOAD = Buffer.from('speech');

export class Radio {
  readonly relay: Node;
  readonly user: number;
  number = 0;
  /** It keeps its button pressed. */
  isSpeaking = false;
  /** When its user last was in an emergency and it had something of the floor (virtual ms). */
  urgentAtMs = Number.NEGATIVE_INFINITY;
  /** Its last question was denied with `retry_later`. */
  wasUnanswered = false;
  private session: Session | null = null;
  private token: string | null = null;
  private isReturning = false;
  private isOver = false;
  private sequence = 0;
  private urgentSinceMs: number | null = null;
  /** Virtual ms of the question under way, and what answers it. */
  private asked: { readonly atMs: number; readonly by: 'frame' | 'request' } | null = null;
  /** It heard that it has something of the floor, or asks for it. */
  private hasPart = false;

  constructor(relay: Node, user: number) {
    this.relay = relay;
    this.user = user;
  }

  private get options() {
    return this.relay.options;
  }

  private get judge() {
    return this.options.judge;
  }

  private get nowMs(): number {
    return this.options.schedule.now();
  }

  private get talk(): Talk | undefined {
    return this.session?.talkAt(TALKGROUP);
  }

  get isLive(): boolean {
    return this.session?.isLive === true;
  }

  get claim() {
    return this.talk?.claim ?? 'none';
  }

  /** Number of the burst that runs. null: none. */
  get burst(): number | null {
    const { talk } = this;
    return talk?.claim === 'talks' ? talk.burst : null;
  }

  get membership(): Membership | null {
    return this.session?.user.memberships.get(TALKGROUP) ?? null;
  }

  /** Virtual ms of the question under way. */
  get askedAtMs(): number | null {
    // What its relay answers to a dead socket it does not hear.
    if (!this.isLive && this.talk?.ask == null) this.asked = null;
    return this.asked?.atMs ?? null;
  }

  // Emergencies

  /** As its relay knows. */
  get inEmergency(): boolean {
    const { membership } = this;
    return membership !== null && isInEmergency(membership);
  }

  /** Its user has been in an emergency for this time (ms). */
  urgentMs(): number {
    return this.urgentSinceMs === null ? 0 : this.nowMs - this.urgentSinceMs;
  }

  noteUrgent(): void {
    const has = this.claim !== 'none';
    if (this.urgentSinceMs !== null && has) this.urgentAtMs = this.nowMs; // it was in one until now
    if (!this.inEmergency) this.urgentSinceMs = null;
    else this.urgentSinceMs ??= this.nowMs;
    if (this.urgentSinceMs !== null && has) this.urgentAtMs = this.nowMs;
  }

  // Its socket

  /** For the first time, or with the session that it had. */
  connect(): void {
    if (this.isReturning || this.isLive || this.isOver) return;
    this.isReturning = true;
    const { relay } = this.relay;
    const claims = { sub: userIdOf(this.user), iat: 0 };
    relay.admit({ claims, resume: this.token, from: NOWHERE }, (admission) => {
      this.isReturning = false;
      if ('close' in admission) return this.turnedAway(admission.close);
      const isNew = !admission.isResumed;
      if (!isNew) this.askedAtMs;
      this.session = admission.session;
      this.number = admission.session.number;
      if (isNew) this.judge.seated(this);
      relay.open(admission, this.peer());
      this.noteUrgent();
    });
  }

  /** Its relay stood still while it waited, for example. */
  private turnedAway({ code, reason }: Close): void {
    if (code !== closes.overloaded.code) this.judge.fail('C0', `a radio is closed: ${reason}`);
    this.options.schedule.in(RETRY_MS, () => this.relay.whenRunning(() => this.connect()));
  }

  private peer(): Peer {
    const { relay } = this;
    const peer = quietPeer({
      send: (message, isBinary) => {
        if (!isBinary) this.hear(Buffer.from(message as ArrayBuffer).toString());
        return 1;
      },
      ping: (text) => {
        const pong = new Uint8Array(Buffer.from(text)).buffer;
        this.options.schedule.in(PONG_MS, () => relay.whenRunning(() => this.session?.ponged(pong)));
        return 1;
      },
      publish: (topic, message) => {
        relay.published(topic, message);
        return true;
      },
      subscribe(topic) {
        const isNew = !relay.at(topic).has(peer);
        relay.at(topic).add(peer);
        return isNew;
      },
      unsubscribe: (topic) => relay.at(topic).delete(peer),
      end: (_code, reason) => {
        relay.forget(peer);
        if (!this.isOver) this.judge.fail('C0', `a socket is closed: ${reason}`);
      },
    });
    this.drop = () => relay.forget(peer);
    return peer;
  }

  private drop: () => void = () => {};

  private says(message: { readonly type: string; readonly [field: string]: unknown }): void {
    const text = JSON.stringify({ ...message, talkgroup_id: TALKGROUP_ID });
    this.session?.receiveText(new Uint8Array(Buffer.from(text)).buffer);
  }

  private sends(flags: number): void {
    const frame = encodeFrame({ sequence: this.sequence++, talkgroup: TALKGROUP, payload: PAYLOAD, flags });
    this.session?.receiveAudio(frame.buffer);
  }

  /** Its socket dies. */
  lose(): void {
    if (!this.isLive) return;
    this.drop();
    this.session?.closed(1006);
  }

  /** It leaves, and does not come back. */
  end(): void {
    this.noteUrgent();
    this.isOver = true;
    this.relay.sessions.delete(this.number);
    this.drop();
    if (this.isLive) this.session?.closed(closes.normal.code);
    else this.session?.end('disconnected');
  }

  // What it does

  press(): void {
    const { claim, judge } = this;
    if (!this.isLive || claim === 'asks' || claim === 'talks') return;
    const before = judge.partsSent;
    const isOpen = this.relay.mode === 'open';
    this.ask('frame', () => this.sends(START));
    if (isOpen && this.asked !== null) judge.fail('C10', `${this.number} is not answered at once in open`);
    if (isOpen && judge.partsSent !== before) judge.fail('C10', `${this.number} asks another relay in open`);
  }

  request(priority: number, queue: boolean): void {
    const { claim } = this;
    if (!this.isLive || claim === 'asks' || claim === 'talks' || claim === 'has') return;
    this.ask('request', () => this.says({ type: 'FLOOR_REQUEST', priority, queue }));
  }

  private ask(by: 'frame' | 'request', say: () => void): void {
    this.hasPart = true;
    this.asked = { atMs: this.nowMs, by };
    say();
    if (this.talk?.ask == null) this.asked = null; // it was answered, or dropped
    this.hasPart = this.claim !== 'none';
  }

  release(): void {
    const { claim, membership } = this;
    if (claim === 'none' || !this.isLive) return;
    const isAsking = this.talk?.ask !== null;
    if (claim === 'talks') this.sends(END);
    else this.says({ type: 'FLOOR_RELEASE' });
    if (isAsking) return; // the release waits for the answer
    if (membership === null || !mayTalk(membership)) return; // its frames are dropped until the permission is read
    if (this.claim !== 'none') this.judge.fail('C5', `${this.number} keeps ${this.claim} after its release`);
    this.hasPart = false;
  }

  emergency(): void {
    const { membership } = this;
    if (!this.isLive || membership === null) return;
    const { user, talkgroup } = membership;
    const own = [...talkgroup.emergencies.values()].find(({ user_id }) => user_id === user.id);
    if (own === undefined) this.says({ type: 'EMERGENCY_RAISE' });
    else this.says({ type: 'EMERGENCY_CLEAR', emergency_id: own.id, talkgroup_id: undefined });
  }

  /** Its relay stood still. */
  excuse(): void {
    if (this.asked !== null) this.asked = { ...this.asked, atMs: this.nowMs };
  }

  // What it hears

  private hear(text: string): void {
    if (text.startsWith('{"type":"WELCOME"')) this.token = JSON.parse(text).resume_token;
    if (!text.startsWith('{"type":"FLOOR_')) {
      if (text.startsWith('{"type":"TALKGROUP_LEFT"')) this.asked = null;
      return;
    }
    const { type, code } = JSON.parse(text);
    const { judge } = this;
    this.noteUrgent();
    if (!this.hasPart && this.claim === 'none' && type !== 'FLOOR_DENIED')
      judge.fail('C5', `${this.number} hears ${type} and has asked for nothing`);
    switch (type) {
      case 'FLOOR_GRANTED':
        this.answered('request');
        return judge.checkGrants();
      case 'FLOOR_QUEUED':
        this.answered('request');
        return judge.note('queued');
      case 'FLOOR_DENIED':
        this.wasUnanswered = code === 'retry_later';
        if (this.wasUnanswered && this.asked !== null && this.nowMs > this.asked.atMs) judge.unanswered(this);
        this.answered(this.asked?.by ?? 'frame');
        return;
      case 'FLOOR_REVOKED':
        judge.note(`revoked ${code}`);
        if (code === 'preempted' || code === 'collision') judge.cut(this);
        return this.answered('frame');
    }
  }

  /** What answers a request is none to a first frame, and the other way round. */
  private answered(by: 'frame' | 'request'): void {
    if (this.asked?.by !== by) return;
    this.judge.answered(this, this.asked.atMs);
    this.asked = null;
  }

  /** Its relay announced its burst: it sends until it releases, or the burst ends. */
  started(burst: number): void {
    this.answered('frame');
    this.isSpeaking = true;
    const { schedule, network } = this.options;
    const next = () => {
      if (this.isOver || this.relay.isDead || this.burst !== burst) return;
      if (!network.isStopped(this.relay.id) && this.isSpeaking && this.isLive) this.sends(0);
      schedule.in(FRAME_MS, next);
    };
    schedule.in(FRAME_MS, next);
  }
}
