// The radio of radio.mjs on OkHttp, for Android (API 26 or newer) and for Java 17. It needs OkHttp and org.json, which
// Android has. docs/websocket-guide.md says how to build it.
//   java -cp CLASSES RadioKt listen URL TOKEN [BURSTS [BUNDLE_MS]]
//   java -cp CLASSES RadioKt talk URL TOKEN TALKGROUP_ID FILE.ogg
//   java -cp CLASSES RadioKt gps URL TOKEN LAT LNG [ALT]
import java.io.File
import java.net.InetAddress
import java.net.Socket
import java.net.URLEncoder
import java.nio.ByteBuffer
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.zip.CRC32
import javax.net.SocketFactory
import kotlin.concurrent.thread
import kotlin.random.Random
import kotlin.system.exitProcess
import okhttp3.*
import okio.ByteString
import org.json.JSONArray
import org.json.JSONObject

// ---- Audio frames: a header of 16 bytes, then the payload.

const val VERSION_1_AUDIO = 0x40
const val VERSION_1_BUNDLE = 0x50
const val START = 0x08
const val END = 0x04

data class Burst(val session: Long, val number: Long)

class Frame(val burst: Burst, val payload: ByteArray)

fun encodeFrame(flags: Int, sequence: Int, number: Long, payload: ByteArray): ByteString {
    val frame = ByteBuffer.allocate(16 + payload.size) // big-endian
    frame.put((VERSION_1_AUDIO or flags).toByte()).put(0).putShort(sequence.toShort())
    frame.putInt(number.toInt()) // of the talkgroup
    frame.putLong(0).put(payload) // the relay fills in session and burst
    return ByteString.of(*frame.array())
}

/** One frame, those of a bundle, or none of a kind that we do not know. */
fun decodeFrames(message: ByteArray): List<Frame> {
    val header = ByteBuffer.wrap(message)
    fun u32(at: Int) = header.getInt(at).toLong() and 0xffffffff
    val kind = message[0].toInt() and 0xf0
    if (kind == VERSION_1_AUDIO) return listOf(Frame(Burst(u32(8), u32(12)), message.copyOfRange(16, message.size)))
    val frames = mutableListOf<Frame>()
    var at = if (kind == VERSION_1_BUNDLE) 16 else message.size
    while (at < message.size) {
        val end = at + 2 + (header.getShort(at).toInt() and 0xffff) // of a frame with a header of its own
        frames += decodeFrames(message.copyOfRange(at + 2, end))
        at = end
    }
    return frames
}

// ---- The connection: opens, resumes, notices a dead link, waits as the close code asks.

/** Every callback of OkHttp, every timer and every packet of a talk holds the lock of this object. */
class Radio(private val address: String, private val onEnd: (exitCode: Int) -> Unit) : WebSocketListener() {
    private val http = OkHttpClient.Builder()
        .socketFactory(NoDelay)
        .pingInterval(12_000, MILLISECONDS) // TCP can take minutes to notice a dead link, this takes 24 s at most
        .build()
    private val timer = Executors.newSingleThreadScheduledExecutor()
    private var socket: WebSocket? = null
    private var resumeToken: String? = null
    private var failures = 0
    private var openedAtMs = 0L
    private var laggedAtMs = Long.MIN_VALUE / 2
    private var goAwayUntilMs = 0L
    private var exitCode = 0
    private var isDone = false

    /** Null until WELCOME. */
    var session: Long? = null
        private set

    /** What follows each message: a talk or a position. */
    var follow: (JSONObject) -> Unit = {}

    /** An app also calls this when the system reports another network. The relay then closes the old socket. */
    @Synchronized
    fun connect() {
        session = null
        val resume = resumeToken?.let { "&resume=${URLEncoder.encode(it, "UTF-8")}" } ?: ""
        socket = http.newWebSocket(Request.Builder().url(address + resume).build(), this)
    }

    @Synchronized
    override fun onMessage(webSocket: WebSocket, text: String) {
        if (webSocket === socket) receiveText(JSONObject(text)) // not of a socket that we gave up
    }

    @Synchronized
    override fun onMessage(webSocket: WebSocket, bytes: ByteString) {
        if (webSocket === socket) decodeFrames(bytes.toByteArray()).forEach(::receiveFrame)
    }

    override fun onClosing(webSocket: WebSocket, code: Int, reason: String) {
        webSocket.close(1001, null) // OkHttp leaves the answer to us. 1001, because 1000 would end the session
        lose(webSocket, code, reason)
    }

    override fun onFailure(webSocket: WebSocket, t: Throwable, response: Response?) {
        // OkHttp before 4.1 takes 1012 and 1013 for errors, and does not tell their reason.
        val reserved = Regex("^Code (101[23]) is reserved").find(t.message ?: "")
        lose(webSocket, reserved?.groupValues?.get(1)?.toInt() ?: 1006, t.message ?: "$t")
    }

    @Synchronized
    private fun lose(lost: WebSocket, code: Int, reason: String) {
        if (lost !== socket) return
        if (session != null && nowMs() - openedAtMs >= 5_000) failures = 0
        session = null
        socket = null
        if (isDone || code == 1000 || (code == 1008 && reason != "device disabled")) {
            println("stopped: $code $reason".trim())
            return onEnd(if (isDone) exitCode else 1)
        }
        val delayMs = waitMs(code, reason)
        println("connection lost: $code $reason, next attempt in $delayMs ms")
        later(delayMs) { if (socket == null) connect() }
    }

    private fun waitMs(code: Int, reason: String): Long {
        val jitterMs = Random.nextLong((500L shl failures++.coerceAtMost(6)).coerceAtMost(30_000))
        if (code == 1008) return 45_000 + Random.nextLong(30_000) // device disabled
        if (code == 1013 && reason == "rate_limited") return 30_000 + jitterMs
        if (code == 1013) return 5_000 + jitterMs.coerceAtLeast(Random.nextLong(5_000))
        if (code == 1006 && nowMs() - laggedAtMs < 30_000) return 5_000 + jitterMs // as after `slow consumer`
        return (goAwayUntilMs - nowMs()).coerceAtLeast(0) + jitterMs
    }

    private fun later(delayMs: Long, task: () -> Unit) {
        timer.schedule({ synchronized(this) { task() } }, delayMs, MILLISECONDS)
    }

    /** Nothing before WELCOME: OkHttp would keep it until the connection is open. */
    fun send(message: JSONObject) = session?.let { socket?.send(message.toString()) }

    fun send(frame: ByteString) = session?.let { socket?.send(frame) }

    /** False when a frame would wait: no connection, or half a second of speech is in front of it. */
    fun isReady() = session != null && (socket?.queueSize() ?: 0) <= 2_048

    /** For good: the session is not kept. */
    fun close(code: Int = 0) {
        isDone = true
        exitCode = code
        socket?.close(1000, null) ?: onEnd(code)
    }

    // ---- What the server tells: talkgroups from snapshots, talkers from events.

    /** By talkgroup_id: the snapshot, with `event` kept current. */
    val talkgroups = HashMap<String, JSONObject>()
    private val running = HashMap<Burst, Heard>()

    private class Heard(val talkgroupId: String) {
        var packets = 0
        val checksum = CRC32()
    }

    private fun receiveText(message: JSONObject) {
        when (message.getString("type")) {
            "WELCOME" -> {
                session = message.getLong("session")
                resumeToken = message.getString("resume_token")
                openedAtMs = nowMs()
                goAwayUntilMs = 0
                println(if (message.getBoolean("resumed")) "resumed" else "connected")
                talkgroups.clear() // what we knew is out of date
                takeSnapshots(message.getJSONArray("talkgroups").objects())
            }
            // Further talkgroups after WELCOME, or state that is repeated.
            "SUBSCRIBED" -> takeSnapshots(message.getJSONArray("talkgroups").objects(), message.has("ref"))
            "SYNCED" -> takeSnapshots(listOf(message), true)
            "TALKGROUP_JOINED" -> takeSnapshots(listOf(message))
            "TALKGROUP_LEFT" -> leave(message.getString("talkgroup_id"))
            "TALKGROUP_CHANGED" -> talkgroups[message.getString("talkgroup_id")]?.put("name", message.getString("name"))
            "LAG" -> {
                laggedAtMs = nowMs()
                println("audio was skipped") // an app drops all audio that it has not played yet
            }
            "GOAWAY" -> goAwayUntilMs = nowMs() + message.getLong("reconnect_after_ms")
            "TALK_STARTED" -> if (isNew(message)) begin(message)
            "TALK_ENDED" -> if (isNew(message)) finish(burstOf(message), message.getString("code"))
            "EMERGENCY", "KEY_ROTATED" -> isNew(message)
        }
        follow(message) // also one that we do not use or do not know
    }

    private fun takeSnapshots(snapshots: List<JSONObject>, isAnswer: Boolean = false) {
        for (snapshot in snapshots) {
            val id = snapshot.getString("talkgroup_id")
            val talkers = snapshot.getJSONArray("talkers").objects()
            talkgroups[id] = snapshot
            val over = running.filter { (_, heard) -> heard.talkgroupId == id }.keys - talkers.map(::burstOf).toSet()
            for (burst in over) finish(burst, "lost")
            talkers.forEach(::begin)
        }
        if (bundleMs == 0 || isAnswer || snapshots.isEmpty()) return
        val ids = JSONArray(snapshots.map { it.getString("talkgroup_id") })
        send(message("SUBSCRIBE").put("talkgroup_ids", ids).put("bundle_ms", bundleMs).put("ref", "bundle"))
    }

    /** Its bursts are not heard to their end. */
    private fun leave(talkgroupId: String) {
        talkgroups.remove(talkgroupId)
        for (burst in running.filter { (_, heard) -> heard.talkgroupId == talkgroupId }.keys) finish(burst, "left")
    }

    /** False for an event that the snapshot includes. After a gap it asks for a new snapshot, not at once. */
    private fun isNew(message: JSONObject): Boolean {
        val id = message.getString("talkgroup_id")
        val talkgroup = talkgroups[id] ?: return false
        val skipped = message.getLong("event") - talkgroup.getLong("event") - 1
        if (skipped < 0) return false
        val sync = message("SYNC").put("talkgroup_id", id).put("ref", "sync")
        if (skipped > 0) later(Random.nextLong(2_000)) { send(sync) }
        talkgroup.put("event", message.getLong("event"))
        return true
    }

    // ---- Listening.

    /** How many bursts are still to be heard, -1 for any number. */
    var burstsLeft = -1

    /** 40 or 60 asks for two or three frames in one message, which saves battery. 0 asks for each frame at once. */
    var bundleMs = 0

    private fun begin(talker: JSONObject) {
        val burst = burstOf(talker)
        if (burst.session == session || burst in running) return // our own, or known
        val talkgroupId = talker.getString("talkgroup_id")
        running[burst] = Heard(talkgroupId)
        println("${talker.getString("username")} talks in ${talkgroups[talkgroupId]?.getString("name")}")
    }

    private fun receiveFrame(frame: Frame) {
        val heard = running[frame.burst] ?: return
        if (frame.payload.isEmpty()) return // the END of a burst may be empty
        heard.packets += 1
        heard.checksum.update(frame.payload)
        // An app gives the payload to the jitter buffer of this talker here.
    }

    private fun finish(burst: Burst, code: String) {
        val heard = running.remove(burst) ?: return
        println("heard ${heard.packets} packets, checksum ${heard.checksum.value.toString(16)}: $code")
        burstsLeft -= 1
        if (burstsLeft == 0) close()
    }
}

/** OkHttp leaves Nagle's algorithm on, which holds a frame back until the frame before is acknowledged. */
private object NoDelay : SocketFactory() {
    private fun unused(): Nothing = throw UnsupportedOperationException()
    override fun createSocket() = Socket().apply { tcpNoDelay = true } // the only one that OkHttp calls
    override fun createSocket(host: String, port: Int) = unused()
    override fun createSocket(host: InetAddress, port: Int) = unused()
    override fun createSocket(host: String, port: Int, local: InetAddress, localPort: Int) = unused()
    override fun createSocket(host: InetAddress, port: Int, local: InetAddress, localPort: Int) = unused()
}

fun message(type: String): JSONObject = JSONObject().put("type", type)
fun burstOf(talker: JSONObject) = Burst(talker.getLong("session"), talker.getLong("burst"))
fun JSONArray.objects() = List(length(), ::getJSONObject)
fun nowMs() = System.nanoTime() / 1_000_000

// ---- Talking.

const val PACKET_MS = 20L

class Talk(private val radio: Radio, private val talkgroupId: String, private val packets: List<ByteArray>) {
    private var startPeriod = -1 // the period of the burst's first frame, -1 before it
    private var talkgroupsTotal = 0
    private var isRunning = false
    private var isSent = false
    private var isOver = false
    private var dropped = 0
    private var denials = 0 // with retry_later, since the last decision
    private var askAgainAtMs = 0L

    /** On a thread of its own. In an app this is the thread that reads the microphone and encodes. */
    private fun run() {
        val startedAtMs = nowMs()
        for ((period, packet) in packets.withIndex()) {
            val dueAtMs = startedAtMs + period * PACKET_MS
            Thread.sleep((dueAtMs - nowMs()).coerceAtLeast(0))
            synchronized(radio) {
                if (isOver) return
                isSent = period == packets.size - 1
                transmit(period, packet, isLate = nowMs() - dueAtMs > 500)
            }
        }
        Thread.sleep(5_000) // the relay ends a silent burst after 2 s
        synchronized(radio) { over("lost") }
    }

    private fun transmit(period: Int, payload: ByteArray, isLate: Boolean) {
        val talkgroup = radio.talkgroups[talkgroupId]
        // Speech that cannot leave now is dropped, never sent later. An END leaves all the same, then without speech.
        val isDropped = isLate || nowMs() < askAgainAtMs || talkgroup == null || !radio.isReady()
        if (isDropped) dropped += 1
        if (isSent && nowMs() < askAgainAtMs) return over("retry_later") // the button is released
        if (talkgroup == null || (isDropped && !(isSent && startPeriod >= 0))) return
        val flags = (if (startPeriod < 0) START else 0) or (if (isSent) END else 0)
        if (startPeriod < 0) startPeriod = period
        val speech = if (isDropped) ByteArray(0) else payload
        radio.send(encodeFrame(flags, period - startPeriod, talkgroup.getLong("number"), speech))
    }

    fun follow(message: JSONObject) {
        val type = message.getString("type")
        val code = message.optString("code")
        if (type == "WELCOME") connected(message)
        if (type == "WELCOME" || type == "SUBSCRIBED") {
            val isMember = talkgroupId in radio.talkgroups || radio.talkgroups.size < talkgroupsTotal
            return if (isMember) Unit else over("not_member")
        }
        if (type == "ERROR" && !message.has("ref")) return over(code) // about one of our frames
        if (message.optString("talkgroup_id") != talkgroupId) return
        if (type == "TALKGROUP_LEFT") return over("not_member")
        if (type == "FLOOR_DENIED" && code == "retry_later" && !isSent && ++denials < 10)
            return askAgain(message.getLong("retry_ms"))
        if (type == "FLOOR_DENIED" || type == "FLOOR_REVOKED") return over(code)
        if (message.optLong("session") != radio.session) return
        if (type == "TALK_STARTED") {
            denials = 0
            println("talking")
        }
        if (type == "TALK_ENDED" && isSent) over(code)
        else if (type == "TALK_ENDED") startPeriod = -1 // after 2 s of silence: the next frame begins another burst
    }

    /** Starts the talk. After a lost connection the burst goes on if the server still has it. */
    private fun connected(welcome: JSONObject) {
        talkgroupsTotal = welcome.getInt("talkgroups_total")
        val talkgroup = radio.talkgroups[talkgroupId]
        val talkers = talkgroup?.getJSONArray("talkers")?.objects() ?: emptyList()
        if (talkers.none { it.getLong("session") == radio.session }) startPeriod = -1
        if (talkgroup != null && isSent && startPeriod >= 0) transmit(packets.size, ByteArray(0), isLate = false)
        if (!isRunning) thread { run() }
        isRunning = true
    }

    /** No decision yet: sends nothing for `retry_ms` and up to half of it more. Then a frame is a new request. */
    private fun askAgain(retryMs: Long) {
        askAgainAtMs = nowMs() + retryMs + Random.nextLong(retryMs / 2 + 1)
        startPeriod = -1
    }

    private fun over(code: String) {
        if (isOver) return
        isOver = true
        val checksum = CRC32().also { packets.forEach(it::update) }
        if (dropped > 0) println("dropped $dropped packets")
        println("sent ${packets.size} packets, checksum ${checksum.value.toString(16)}: $code")
        radio.close(if (code == "released") 0 else 1)
    }
}

/** The packets of an Ogg Opus file. */
fun readOgg(file: ByteArray): List<ByteArray> {
    val packets = mutableListOf<ByteArray>()
    var part = ByteArray(0)
    var at = 0
    while (at < file.size) {
        val lengths = List(file[at + 26].toInt() and 0xff) { file[at + 27 + it].toInt() and 0xff } // of the segments
        at += 27 + lengths.size
        for (length in lengths) {
            part += file.copyOfRange(at, at + length)
            at += length
            if (length == 255) continue // a shorter one ends a packet
            packets += part
            part = ByteArray(0)
        }
    }
    return packets.drop(2) // the first two are headers
}

// ---- The position of the user's own device.

/** Sends it after each WELCOME until the answer: with `at`, a position never replaces a newer one. */
fun report(radio: Radio, place: List<Double>): (JSONObject) -> Unit {
    val alt = place.getOrElse(2) { 0.0 } // a device that does not know its altitude sends 0
    val update = message("GPS_UPDATE").put("ref", "gps").put("lat", place[0]).put("lng", place[1]).put("alt", alt)
    update.put("at", Instant.now().truncatedTo(ChronoUnit.MILLIS).toString()) // when the device was there
    return { message ->
        if (message.getString("type") == "WELCOME") radio.send(update)
        if (message.optString("ref") == "gps") {
            val code = message.optString("code") // of ERROR, none of OK
            println(if (code.isEmpty()) "position stored" else "position rejected: $code")
            radio.close(if (code.isEmpty()) 0 else 1)
        }
    }
}

fun main(args: Array<String>) {
    val (command, url, token) = args
    val rest = args.drop(3)
    val radio = Radio("$url/ws?token=${URLEncoder.encode(token, "UTF-8")}", ::exitProcess)
    when (command) {
        "listen" -> {
            radio.burstsLeft = rest.getOrNull(0)?.toInt() ?: -1
            radio.bundleMs = rest.getOrNull(1)?.toInt() ?: 0
        }
        "talk" -> radio.follow = Talk(radio, rest[0], readOgg(File(rest[1]).readBytes()))::follow
        "gps" -> radio.follow = report(radio, rest.map(String::toDouble))
        else -> throw IllegalArgumentException("unknown command: $command")
    }
    radio.connect()
}
