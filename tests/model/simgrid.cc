// Runs a GOAL file (tutti model --goal) in SimGrid and prints the time of its end in us.
// simgrid FILE star|fat_tree|dragonfly BYTES_PER_US LATENCY_US PLATFORM
// All links have the bandwidth of a NIC. PLATFORM is a file that is written.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Task {
    char kind; // s, r, c
    int peer, tag;
    double amount;
    std::vector<int> needs;
};
static std::vector<std::vector<Task>> schedule;

static void read(const char *path)
{
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream in(line);
        std::string label, word, unit, skip;
        in >> label;
        if (label == "rank")
            schedule.emplace_back();
        if (label[0] != 'l')
            continue;
        in >> word;
        if (word == "requires") {
            in >> unit;
            schedule.back()[std::stoul(label.substr(1)) - 1].needs.push_back(std::stoi(unit.substr(1)) - 1);
            continue;
        }
        Task task{word[0], 0, 0, 0, {}};
        in >> task.amount;
        if (task.kind != 'c')
            in >> unit >> skip >> task.peer >> skip >> task.tag;
        schedule.back().push_back(task);
    }
}

static sg4::Mailbox *box(int from, int to, int tag)
{
    return sg4::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to) + "#" + std::to_string(tag));
}

// A combination holds up what its leader posts, but no message that is open.
static void leader(int me)
{
    const auto &tasks = schedule[me];
    std::vector<int> left(tasks.size()), ready, running;
    std::vector<std::vector<int>> next(tasks.size());
    std::vector<sg4::CommPtr> open;
    std::vector<void *> got(tasks.size());
    static char byte;
    for (size_t t = 0; t < tasks.size(); t++) {
        left[t] = tasks[t].needs.size();
        for (int before : tasks[t].needs)
            next[before].push_back(t);
        if (left[t] == 0)
            ready.push_back(t);
    }
    auto ended = [&](int t) {
        for (int after : next[t]) {
            if (--left[after] == 0)
                ready.push_back(after);
        }
    };
    while (!ready.empty() || !open.empty()) {
        for (size_t i = 0; i < ready.size(); i++) {
            const int t = ready[i];
            const Task &task = tasks[t];
            if (task.kind == 'c') {
                sg4::this_actor::execute(task.amount); // a host does one a ns
                ended(t);
                continue;
            }
            open.push_back(task.kind == 's' ? box(me, task.peer, task.tag)->put_async(&byte, std::max(task.amount, 1.0))
                                            : box(task.peer, me, task.tag)->get_async<void>(&got[t]));
            running.push_back(t);
        }
        ready.clear();
        if (open.empty())
            continue;
        const ssize_t i = sg4::Comm::wait_any(open);
        const int t = running[i];
        open.erase(open.begin() + i);
        running.erase(running.begin() + i);
        ended(t);
    }
}

// n hosts at least; the latency is divided among the links of the longest way. Links are of two directions.
static int make(const std::string &kind, int n, double bandwidth, double latency, const std::string &file)
{
    std::ostringstream shape;
    int hosts = n, links = 2;
    if (kind == "fat_tree") { // two levels, as many links up as down: full bisection
        int down = 1;
        while (down * down < n)
            down++;
        hosts = down * down;
        shape << " topology='FAT_TREE' topo_parameters='2;" << down << "," << down << ";1," << down << ";1,1'";
        links = 4;
    } else if (kind == "dragonfly") { // groups of 4 chassis of 8 blades of 4 hosts
        const int groups = std::max(2, (n + 127) / 128);
        hosts = groups * 128;
        shape << " topology='DRAGONFLY' topo_parameters='" << groups << ",4;4,4;8,4;4'";
        links = 7;
    }
    std::ofstream xml(file);
    xml << "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version='4.1'>\n"
        << "<cluster id='c' prefix='h' suffix='' radical='0-" << hosts - 1 << "' speed='1Gf' bw='" << bandwidth * 1e6 << "Bps' lat='"
        << latency / links << "us' sharing_policy='SPLITDUPLEX'" << shape.str() << "/>\n</platform>\n";
    return hosts;
}

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc != 6) {
        std::cerr << "simgrid FILE star|fat_tree|dragonfly BYTES_PER_US LATENCY_US PLATFORM\n";
        return 2;
    }
    read(argv[1]);
    make(argv[2], schedule.size(), std::stod(argv[3]), std::stod(argv[4]), argv[5]);
    engine.load_platform(argv[5]);
    for (size_t r = 0; r < schedule.size(); r++)
        sg4::Actor::create("leader" + std::to_string(r), engine.host_by_name("h" + std::to_string(r)), leader, r);
    engine.run();
    std::cout << 1e6 * sg4::Engine::get_clock() << "\n";
    return 0;
}
