/* One packet: 16 bytes, of which 8 are data, and each half ends with the number of the step. A thread that waits for it
 * sees number and data at once: no fence, no meeting (NCCL's protocol LL). The environment (env_c.h, env_cuda.h) comes
 * before. */
#ifndef TUTTI_DEVICE_PACKET_H
#define TUTTI_DEVICE_PACKET_H

struct tutti_dev_packet {
    tutti_dev_u64 a, b; /* each: half of the data, above it the flag */
};

TUTTI_DEV struct tutti_dev_packet tutti_dev_packet_of(tutti_dev_u64 data, uint32_t flag)
{
    struct tutti_dev_packet packet;
    packet.a = (data & 0xffffffffu) | (tutti_dev_u64)flag << 32;
    packet.b = data >> 32 | (tutti_dev_u64)flag << 32;
    return packet;
}

TUTTI_DEV tutti_dev_u64 tutti_dev_packet_data(const struct tutti_dev_packet *packet)
{
    return (packet->a & 0xffffffffu) | packet->b << 32;
}

TUTTI_DEV int tutti_dev_packet_there(const struct tutti_dev_packet *packet, uint32_t flag)
{
    return (uint32_t)(packet->a >> 32) == flag && (uint32_t)(packet->b >> 32) == flag;
}

TUTTI_DEV void tutti_dev_packet_store(void *to, struct tutti_dev_packet packet)
{
    tutti_dev_store_pair(to, packet.a, packet.b);
}

TUTTI_DEV struct tutti_dev_packet tutti_dev_packet_load(const void *from)
{
    struct tutti_dev_packet packet;
    tutti_dev_load_pair(from, &packet.a, &packet.b);
    return packet;
}

#endif
